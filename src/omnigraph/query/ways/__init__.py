"""Which way a read is answered: on the image, by look-ups, or by DuckDB over the tables."""
