"""`python -m benchmarks [part …]`: take measurements, print them as a table, and refresh what the docs show.

A part is a module with `measure`. Its figures are kept in `results.json`, so that parts can be measured one by one:
together they take half an hour.
"""

import argparse
import importlib
import json
import os
import re
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.chart import draw
from benchmarks.figures import Figure, Unit, apart, spell_table

PARTS = (
    "load",
    "graph",
    "startup",
    "optimize",
    "wide_rows",
    "pauses",
    "first_optimize",
    "history",
    "maintain",
    "feeding",
    "merge_large",
    "query_image",
    "query_large",
    "query",
    "policy",
)
ROOT = Path(__file__).parents[1]
README, PAGE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
CHART = ROOT / "docs" / "images" / "benchmarks.png"
RESULTS = Path(__file__).with_name("results.json")
HEADLINES = {
    r"load 10,000,000 rows, .* engine local": "load 10 million rows of NDJSON with all checks, in process",
    r"load 10,000,000 rows on two Spark workers": "the same load on two Spark workers",
    r"one-row commit after .*": "one-row commit after 5,000 commits",
    r"optimize 40 tables .*, engine local": "optimize 40 tables of 60 small files each",
    r"optimize 40 tables .*, a second run": "optimize them again, nothing to do",
    r"pause of writers .*, all kinds of indexes": "how long writers wait for an optimize of 18 seconds",
}
"""The figures that the README shows, and how it calls them."""
BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"


def main() -> None:
    """Measure parts, each in a process and a directory of its own, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--update-docs", action="store_true", help="write the tables and the chart of the docs")
    parser.add_argument("--large", action="store_true", help="measure sizes too that take much longer, where there are")
    parser.add_argument("--small", action="store_true", help="take little data, to see that a part runs, where it can")
    options = parser.parse_args()
    if options.small and options.update_docs:
        parser.error("--small measures nothing that the docs could show")
    for part in options.part or PARTS:
        if part not in PARTS:
            parser.error(f"there is no part {part}")
        with tempfile.TemporaryDirectory() as directory:
            module = importlib.import_module(f"benchmarks.{part}")
            size = "measure_small" if options.small else "measure_large" if options.large else "measure"
            if options.small and not hasattr(module, size):
                parser.error(f"the part {part} has no small size")
            measure = getattr(module, size, module.measure)
            figures = apart(measure, Path(directory))
        print(f"{part}\n{spell_table(figures)}\n", flush=True)
        if options.update_docs:
            remember(part, figures)
            update_docs()


def remember(part: str, figures: list[Figure]) -> None:
    """Keep the figures of one part in the place of its last ones."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[part] = [asdict(figure) for figure in figures]
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def update_docs() -> None:
    """Replace what stands between the markers, and the chart, by what is kept of all parts."""
    kept = json.loads(RESULTS.read_text())
    figures = [Figure(**{**fields, "unit": Unit(fields["unit"])}) for part in PARTS for fields in kept.get(part, ())]
    draw(figures, CHART)
    shown = f"![How OmniGraph compares with the raw libraries]({CHART.relative_to(PAGE.parent)})"
    machine = f"{len(os.sched_getaffinity(0))} cores; medians of three runs where they are short."
    _replace_marked(PAGE, f"{shown}\n\n{spell_table(figures)}\n\n{machine}")
    _replace_marked(README, spell_table([_headline(figures, pattern) for pattern in HEADLINES]))


def _headline(figures: list[Figure], pattern: str) -> Figure:
    (figure,) = (figure for figure in figures if re.fullmatch(pattern, figure.what))
    return replace(figure, what=HEADLINES[pattern], note="")


def _replace_marked(page: Path, content: str) -> None:
    head, _, rest = page.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    page.write_text(f"{head}{BEGIN}\n{content}\n{END}{tail}")


if __name__ == "__main__":
    main()
