"""Fork, list, delete: Git-style branches of the whole graph."""
