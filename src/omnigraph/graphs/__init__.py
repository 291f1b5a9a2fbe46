"""An open graph and reading it: finding the snapshot that an address means, opening its tables, keeping them from
cleanup. Nothing here writes, and nothing here knows how writing works.
"""
