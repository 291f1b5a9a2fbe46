"""Pictures of graphs: what is in them, where it stands, and how it is drawn; nothing here asks a graph by itself."""
