"""maintain: what is due on a graph, done by itself; on many graphs, one after the other in one process."""
