#!/usr/bin/env python3
"""Take the pictures of the console that the docs show: every page, as wide as a screen and as a telephone.

PYTHONPATH=tests python scripts/console_screenshots.py
"""

import os
import tempfile
from pathlib import Path
from urllib.parse import quote

import omnigraph
from support.browser import NARROW, WIDE, Browser, Console, running_console
from support.console_graphs import make_fleet

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
HEIGHTS = {WIDE: 860, NARROW: 780}


def pages(root: Path) -> dict[str, str]:
    """Return the address of each picture, by its name."""
    newest = omnigraph.open(str(root), read_only=True).commits(limit=1)[0].graph_commit_id
    question = "match { $s: Sailor  $s servesOn $h } return { $h.title, count($s) as crew } order { crew desc }"
    return {
        "overview": "/g/fleet/overview",
        "explore": "/g/fleet/explore?view=Sailor.Ana~Sailor.Ana.o.Mentors~Sailor.Ana.o.ServesOn&pick=Sailor.Ana",
        "query": f"/g/fleet/query?q={quote(question)}&run=1",
        "history": "/g/fleet/history",
        "commit": f"/g/fleet/history?commit={newest}",
        "merge": "/g/fleet/history?source=storm-season&into=main",
        "maintenance": "/g/fleet/maintenance",
    }


def take(browser: Browser, console: Console, name: str, path: str) -> None:
    """Take both pictures of a page."""
    for width, height in HEIGHTS.items():
        browser.resize(width, height)
        browser.open(console.at(path))
        browser.until(
            lambda: browser.all("main .og-card") and not browser.all("[aria-label=Loading]"), f"the page {name}"
        )
        browser.screenshot(IMAGES / f"console-{name}-{width}.png", width=width, height=height)


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as directory:
        root = make_fleet(Path(directory) / "fleet.omni")
        os.chdir(directory)  # pictures name the graph as somebody would who stands beside it
        browser = Browser()
        try:
            with running_console(root.name) as console:
                browser.open(console.address)
                browser.see("Types")
                for name, path in pages(root).items():
                    take(browser, console, name, path)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
