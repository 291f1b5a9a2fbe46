"""One table that publishes all others: snapshots, lineage and compare-and-swap publication.

`__manifest` says which version of each table belongs to which graph version. Everything that becomes visible becomes
visible through `publish.py`; everything that is read is found through `snapshot.py`.
"""
