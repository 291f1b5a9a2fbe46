"""`python -m benchmarks [part …]`: take measurements, print them as a table, and refresh what the README shows."""

import argparse
import importlib
import os
import tempfile
from pathlib import Path

from benchmarks.chart import draw
from benchmarks.figures import Figure, apart, spell_table

PARTS = ("load", "graph", "startup")
ROOT = Path(__file__).parents[1]
README, CHART = ROOT / "README.md", ROOT / "docs" / "images" / "benchmarks.png"
BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"


def main() -> None:
    """Measure every part in a process of its own, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--update-readme", action="store_true", help="write the table and the chart of the README")
    options = parser.parse_args()
    figures: list[Figure] = []
    for part in options.part or PARTS:
        with tempfile.TemporaryDirectory() as directory:
            figures += apart(importlib.import_module(f"benchmarks.{part}").measure, Path(directory))
        print(spell_table(figures), flush=True)
    if options.update_readme:
        update_readme(figures)


def update_readme(figures: list[Figure]) -> None:
    """Replace what stands between the markers, and the chart."""
    draw(figures, CHART)
    shown = f"![How OmniGraph compares with the raw libraries]({CHART.relative_to(ROOT)})"
    machine = f"{len(os.sched_getaffinity(0))} cores; medians of three runs where they are short."
    head, _, rest = README.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    README.write_text(f"{head}{BEGIN}\n{shown}\n\n{spell_table(figures)}\n\n{machine}\n{END}{tail}")


if __name__ == "__main__":
    main()
