"""`omnigraph health`: exit codes for cron, a document for programs, a page for people."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import lance
import pytest

import omnigraph
from support import harbor

pytestmark = pytest.mark.usefixtures("workplace")


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

    assert ran.out.count("attention: ") == 1
    assert "never optimized: the indexes that every table has are not built (on id, src, dst); 5 declared" in ran.out
    assert ran.out.count(f"omnigraph optimize {graph_uri}") == 1


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
    before = run("health", graph_uri, "--json").document
    ship = next(table for table in before["tables"] if table["table_key"] == "node:Ship")
    assert {(index["columns"][0], index["built_in"]) for index in ship["indexes"] if index["built_in"]} == {
        ("id", True)
    }
    assert any(not index["built_in"] for index in ship["indexes"])
    assert run("optimize", graph_uri).code == 0
    file = tmp_path / "report.html"

    ran = run("health", graph_uri, "--html", str(file))
    document = run("health", graph_uri, "--json").document

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


MANY = "".join(f"node T{number} {{ name: String @key\n note: String? @index }}\n" for number in range(30))


@pytest.fixture
def wide(local_root: str) -> str:
    """A graph of many tables, loaded once and never optimized; one of them has no rows."""
    graph = omnigraph.init(local_root, MANY)
    records = [{"type": f"T{number}", "data": {"name": "a"}} for number in range(29)]
    graph.load(harbor.lines(records), mode="merge")
    return local_root


def test_a_fresh_graph_of_many_tables_is_one_finding_that_names_them(run: Any, wide: str) -> None:
    ran = run("health", wide)
    document = run("health", wide, "--json").document

    assert ran.code == 1
    assert len(ran.out.splitlines()) <= 30
    (finding, empty) = document["findings"]
    assert (finding["code"], finding["severity"]) == ("never_optimized", "attention")
    assert len(finding["tables"]) == 29
    assert "table_key" not in finding
    assert {each["table_key"] for each in finding["each"]} == set(finding["tables"])
    assert (empty["severity"], empty["table_key"]) == ("info", "node:T29")
    assert len(document["tables"]) == 30


def test_what_needs_nothing_is_not_under_what_to_do(run: Any, wide: str, tmp_path: Path) -> None:
    run("optimize", wide)
    file = tmp_path / "report.html"

    ran = run("health", wide, "--html", str(file))

    assert ran.code == 0
    page = file.read_text(encoding="utf-8")
    assert ran.out.splitlines()[1] == "nothing to do: 30 tables in good order"
    assert "info: node:T29: no index on id, name, note yet: no rows yet" in ran.out
    assert "Nothing to do." in page
    assert "What to do" not in page
    assert "Good to know" in page
    assert "var(--bad)" not in page.partition("</style>")[2]
    assert 'class="action"' not in page


def test_charts_say_how_many_tables_they_leave_out(run: Any, wide: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"

    run("health", wide, "--html", str(file))

    page = file.read_text(encoding="utf-8")
    assert "The 12 largest of 29; the other 17 hold" in page
    assert "1 table without rows is not shown." in page
    assert "<summary>10 more tables</summary>" in page
    assert all(f"node:T{number}<" in page for number in range(30))


def test_tables_that_need_something_come_first(run: Any, wide: str, tmp_path: Path) -> None:
    run("optimize", wide)
    record = tmp_path / "more.jsonl"
    record.write_text('{"type": "T17", "data": {"name": "b"}}\n', encoding="utf-8")
    assert run("load", wide, "--data", str(record), "--mode", "append").code == 0
    file = tmp_path / "report.html"

    lines = run("health", wide, "--html", str(file)).out.splitlines()

    tables = [line.split()[0] for line in lines if line.startswith("node:")]
    assert tables[0] == "node:T17"
    assert len(tables) == 20
    assert "… and 10 more tables; --json and --html show all of them" in lines
    assert "1 table with something to do first" in file.read_text(encoding="utf-8")


def test_a_table_of_which_nothing_can_be_read_is_in_the_list_too(run: Any, wide: str) -> None:
    run("optimize", wide)
    table = next(Path(wide, "nodes").iterdir())
    next(iter(sorted(Path(table, "_versions").glob("*.manifest")))).write_bytes(b"junk")

    ran = run("health", wide)

    assert ran.code == 2
    assert "cannot be read" in ran.out
    (first, *_) = [line for line in ran.out.splitlines() if line.startswith("node:")]
    assert first.split()[1] == "?", "how many rows"
