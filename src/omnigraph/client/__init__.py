"""Graphs behind a server, with the verbs and values of graphs that are opened here.

What a verb asks for, and what its answer means, is written once (`reads.py`, `writes.py`) and knows no network; who
sends it, waiting or not, is `transport.py`. Nothing else imports an HTTP library.
"""
