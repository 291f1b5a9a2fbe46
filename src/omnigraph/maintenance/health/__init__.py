"""How a graph is doing: read-only, with the command that fixes each finding."""
