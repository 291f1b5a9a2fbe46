"""The parts of the page on which people walk through a graph."""
