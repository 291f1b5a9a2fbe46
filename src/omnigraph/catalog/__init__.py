"""What types, properties, keys and indexes mean: the compiled schema, its identities and its Arrow shape."""
