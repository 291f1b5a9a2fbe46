"""Records and rows: NDJSON lines to typed Arrow columns and back, with every check that concerns one record alone."""
