"""What every route does, a module for each group: read the request, ask who may, let the graph do it, answer."""
