"""A whole read as one SQL statement, for DuckDB and for Spark: joins of any size, and nothing kept in memory."""
