"""From a checked read to the steps that answer it."""
