"""verify: proves that everything a graph needs is there, is what it was, and agrees with itself."""
