"""Changing the schema of a graph that holds data: what would happen, and making it happen as one commit."""
