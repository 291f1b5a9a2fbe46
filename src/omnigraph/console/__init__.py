"""The console: pages in a browser over the verbs that every other door has."""
