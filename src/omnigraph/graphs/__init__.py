"""An open graph and reading it: the snapshot that an address means, its tables, their filters and leases.

Nothing here writes, and nothing here knows how writing works.
"""
