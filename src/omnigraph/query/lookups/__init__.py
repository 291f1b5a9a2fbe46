"""A snapshot read by looking up the few entities that a query reaches, in the indexes of its tables."""
