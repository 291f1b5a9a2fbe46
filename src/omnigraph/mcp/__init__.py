"""Stored queries as tools of the Model Context Protocol, for agents; needs the extra `omnigraph[mcp]`.

Where queries come from and who runs them is `sources.py`, how they look as tools is `tools.py`; only `serving.py` knows
the protocol.
"""
