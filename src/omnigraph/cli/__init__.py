"""Words and flags in, graph calls, text or JSON out; the only layer that prints.

Start reading at `verbs/table.py`, the table of all commands, and `main.py`, the way through one run.
"""
