"""Export: entities of one snapshot out, in the lines that load reads back."""
