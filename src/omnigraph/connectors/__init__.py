"""What other systems see of a graph, each in a folder of its own: Spark."""
