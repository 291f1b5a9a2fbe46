"""Many graphs declared in files: what has been applied, and where it lives."""
