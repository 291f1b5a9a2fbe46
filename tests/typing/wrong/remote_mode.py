"""There is no such load mode, whoever loads."""

import omnigraph

omnigraph.connect("http://127.0.0.1:8080", graph="art").load("more.jsonl", mode="replace")  # mistake: arg-type
