"""What a command costs before it does anything."""

import json
import subprocess
import sys
from pathlib import Path

import omnigraph
from benchmarks.data import SCHEMA
from benchmarks.figures import Figure, seconds


def measure(directory: Path) -> list[Figure]:
    """Time the help page and loads of one record, each in a fresh process, beside what they may take."""
    graph, data = directory / "tiny.omni", directory / "tiny.jsonl"
    omnigraph.init(str(graph), SCHEMA)
    data.write_text(json.dumps({"type": "Person", "data": {"name": "a", "age": 1, "city": "x", "score": 0.5}}))
    load = ("load", str(graph), "--data", str(data), "--mode", "merge", "--engine")
    return [
        Figure(what="`omnigraph --help`", ours=_command_seconds("--help", repeat=9), goal=0.3),
        Figure(what="`omnigraph load` of one record", ours=_command_seconds(*load, "auto", repeat=5), goal=1),
        Figure(
            what="`omnigraph load --engine spark` of one record, cold", ours=_command_seconds(*load, "spark"), goal=10
        ),
    ]


def _command_seconds(*arguments: str, repeat: int = 3) -> float:
    command = [str(Path(sys.executable).parent / "omnigraph"), *arguments]
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True), repeat=repeat)
