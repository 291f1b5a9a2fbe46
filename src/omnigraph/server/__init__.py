"""The HTTP server: one process that serves the ready graphs of one cluster. Nothing here is imported before it starts."""
