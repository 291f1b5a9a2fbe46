"""Loads that are larger than a chunk: pieces of input on workers, key columns for the checks, one commit.

pieces ─► read_piece on workers ─► data files + key columns ─► checks in SQL ─► [merge: rewrite] ─► one commit
"""
