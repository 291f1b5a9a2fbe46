"""Explicit healing of drift: a table whose newest version is not the one that the graph pins."""
