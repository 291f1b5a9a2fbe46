"""Load: graph NDJSON and tables in, checked Arrow columns out, one commit at the end."""
