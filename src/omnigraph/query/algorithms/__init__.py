"""Graph algorithms on the adjacency that queries use: ranks, components, degrees, shortest paths."""
