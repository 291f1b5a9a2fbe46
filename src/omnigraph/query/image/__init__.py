"""The in-memory image of a snapshot: ordinals, columns and adjacency, built when asked for and shared by snapshots."""
