"""Text in, checked syntax trees out: the schema language and what it shares with the query language."""
