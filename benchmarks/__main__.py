"""`python -m benchmarks [part …]`: take measurements, print them as a table, and refresh what the README shows.

A part is a module with `measure`. Its figures are kept in `results.json`, so that parts can be measured one by one:
together they take half an hour.
"""

import argparse
import importlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.chart import draw
from benchmarks.figures import Figure, Unit, apart, spell_table

PARTS = ("load", "graph", "startup", "optimize", "wide_rows", "pauses", "history")
ROOT = Path(__file__).parents[1]
README, CHART = ROOT / "README.md", ROOT / "docs" / "images" / "benchmarks.png"
RESULTS = Path(__file__).with_name("results.json")
BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"


def main() -> None:
    """Measure parts, each in a process and a directory of its own, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--update-readme", action="store_true", help="write the table and the chart of the README")
    options = parser.parse_args()
    for part in options.part or PARTS:
        if part not in PARTS:
            parser.error(f"there is no part {part}")
        with tempfile.TemporaryDirectory() as directory:
            figures = apart(importlib.import_module(f"benchmarks.{part}").measure, Path(directory))
        print(f"{part}\n{spell_table(figures)}\n", flush=True)
        if options.update_readme:
            remember(part, figures)
            update_readme()


def remember(part: str, figures: list[Figure]) -> None:
    """Keep the figures of one part in the place of its last ones."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[part] = [asdict(figure) for figure in figures]
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def update_readme() -> None:
    """Replace what stands between the markers, and the chart, by what is kept of all parts."""
    kept = json.loads(RESULTS.read_text())
    figures = [Figure(**{**fields, "unit": Unit(fields["unit"])}) for part in PARTS for fields in kept.get(part, ())]
    draw(figures, CHART)
    shown = f"![How OmniGraph compares with the raw libraries]({CHART.relative_to(ROOT)})"
    machine = f"{len(os.sched_getaffinity(0))} cores; medians of three runs where they are short."
    head, _, rest = README.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    README.write_text(f"{head}{BEGIN}\n{shown}\n\n{spell_table(figures)}\n\n{machine}\n{END}{tail}")


if __name__ == "__main__":
    main()
