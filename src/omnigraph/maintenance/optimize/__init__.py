"""optimize: observe the layout of every table, decide what pays, rewrite without a lock, commit and publish once."""
