"""Merges of more changes than one process wants to hold, written once for every engine; the result is the same.

rows of all sides, read and hashed by workers ─► changes ─► resolution, in SQL ─► checks, in SQL ─► workers read the
taken rows from the source and write them as new files of the target ─► one commit
"""
