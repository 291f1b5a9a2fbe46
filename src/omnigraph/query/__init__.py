"""Queries against a schema: what a parsed query means, and whether it can mean anything."""
