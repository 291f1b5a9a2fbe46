"""The engine on Apache Spark: sessions, and tasks and relational steps through the DataFrame API alone."""
