"""What differs between two states: of one table, of two snapshots, of a commit and its parent, along a branch."""
