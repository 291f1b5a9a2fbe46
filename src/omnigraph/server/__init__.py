"""The HTTP server: one process that serves the ready graphs of one cluster. Nothing imports it until it starts."""
