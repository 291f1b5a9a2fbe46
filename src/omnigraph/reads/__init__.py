"""Reading a graph: finding the snapshot that an address means, and opening its tables. Nothing here writes."""
