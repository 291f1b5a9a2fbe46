"""Every verb once: its words, what it needs in order to reach a graph, its options, and the document of its result.

Whoever offers verbs, on a command line, over a network or in a journal, reads them here.
"""
