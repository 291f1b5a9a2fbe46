"""`omnigraph health`: exit codes for cron, a document for programs, a page for people."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import lance
import pytest

from support import harbor


class Page(HTMLParser):
    """Collects what a browser would fetch, and whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [name for name, _ in attrs if name in {"src", "href"}]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def graph_uri(local_root: str) -> str:
    harbor.new_graph(local_root)
    return local_root


def test_the_exit_code_says_how_the_graph_is_doing(run: Any, graph_uri: str) -> None:
    assert run("health", graph_uri).code == 1
    assert run("optimize", graph_uri).code == 0
    assert run("health", graph_uri).code == 0

    table = next(Path(graph_uri, "nodes").iterdir())
    lance.dataset(str(table)).update_config({"owner": "somebody"})
    assert run("health", graph_uri).code == 2


def test_a_run_that_could_not_look_has_codes_of_its_own(run: Any) -> None:
    assert run("health", "--nonsense").code == 64
    assert run("health", "--store", "nowhere.omni").code == 70


def test_the_codes_do_not_depend_on_where_flags_stand(run: Any, graph_uri: str) -> None:
    assert run("--store", "nowhere.omni", "health").code == 70
    assert run("--server", "prod", "health").code == 64
    assert run("--graph", "health", "optimize", "--store", graph_uri).code == 2


def test_the_document_has_every_table_and_a_fix_for_every_finding(run: Any, graph_uri: str) -> None:
    document = run("health", graph_uri, "--json").document

    assert document["status"] == "attention"
    assert len(document["tables"]) == 5
    for table in document["tables"]:
        assert sum(table["fragment_sizes"].values()) == table["fragments"]
    assert document["findings"]
    assert all(finding["fix"].startswith("omnigraph ") for finding in document["findings"])
    assert document["internal_tables"][0]["table_key"] == "__manifest"


def test_people_see_what_to_do(run: Any, graph_uri: str) -> None:
    ran = run("health", graph_uri)

    assert "attention: node:Ship: declared indexes are not built" in ran.out
    assert f"omnigraph optimize {graph_uri}" in ran.out


def test_the_page_stands_alone_and_names_every_table(run: Any, graph_uri: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"

    assert run("health", graph_uri, "--html", str(file)).code == 1

    text = file.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.fetched == []
    assert "http" not in text
    for name in ("node:Sailor", "edge:ServesOn", "Needs attention", f"omnigraph optimize {graph_uri}"):
        assert name in text


def test_a_page_that_cannot_be_written_is_an_error(run: Any, graph_uri: str) -> None:
    ran = run("health", graph_uri, "--html", "no/such/place.html")

    assert ran.code == 70
    assert "no/such/place.html" in ran.err


def test_programs_and_people_see_every_index_and_what_maintenance_gained(
    run: Any, graph_uri: str, tmp_path: Path
) -> None:
    assert "node:Ship indexes: 0 of 4 complete; id btree not built" in run("health", graph_uri).out
    assert run("optimize", graph_uri).code == 0
    file = tmp_path / "report.html"

    ran = run("health", graph_uri, "--html", str(file))
    document = run("health", graph_uri, "--json").document

    assert " complete" not in ran.out
    assert "last run: optimize" in ran.out
    (done,) = document["runs"]
    assert (done["verb"], done["branch"], done["failed"]) == ("optimize", "main", [])
    assert done["gained"]["indexes_built"] > 0
    assert done["duration_ms"] >= 0
    for moment in (done["at"], document["looked_at"], document["last_maintenance"]["at"]):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moment)
    ship = next(table for table in document["tables"] if table["table_key"] == "node:Ship")
    assert {index["coverage"] for index in ship["indexes"]} == {1.0}
    assert "Last maintenance" in file.read_text(encoding="utf-8")
