"""Internal schema migrations: how a `__manifest` of an older shape is read, and how it is brought up to date.

`registry.py` lists the steps, one per stamp. Reading applies their `upgrade_rows` in memory and writes nothing;
`run.py` carries them out on disk before the first write. Nothing outside of this package knows an older shape.
"""
