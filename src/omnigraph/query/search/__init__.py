"""Searching: texts that match, and nodes ranked by words, by vectors, or by both."""
