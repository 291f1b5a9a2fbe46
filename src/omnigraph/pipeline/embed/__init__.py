"""Embed: the vectors that texts stand for, filled into load files or into a graph's rows."""
