"""The steps of a plan, run over one snapshot."""
