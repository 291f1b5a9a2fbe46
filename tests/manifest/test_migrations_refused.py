"""Manifests that this program must not touch: every command refuses them, and nothing is written."""

from pathlib import Path

import lance
import pytest

import omnigraph
from omnigraph import INTERNAL_SCHEMA_VERSION
from omnigraph.cli.main import main
from omnigraph.errors import GraphCorrupt, GraphTooNew, OmniError
from support import harbor, old_graphs
from support.old_graphs import STAMP

COMMANDS = [
    ("snapshot",),
    ("export",),
    ("commit", "list"),
    ("commit", "show", old_graphs.GENESIS),
    ("commit", "changes", old_graphs.GENESIS),
    ("changes", "poll"),
    ("changes", "baseline", "--out", "baseline.jsonl"),
    ("schema", "show"),
    ("schema", "plan", "--schema", "harbor.pg"),
    ("schema", "apply", "--schema", "harbor.pg"),
    ("branch", "list"),
    ("branch", "create", "review"),
    ("branch", "diff", "main"),
    ("branch", "delete", "review"),
    ("branch", "merge", "review"),
    ("branch", "merge", "review", "--dry-run"),
    ("optimize",),
    ("recover",),
    ("repair",),
    ("health",),
    ("cleanup",),
    ("embed",),
    ("load", "--data", "crew.jsonl", "--mode", "append"),
    ("init", "--force", "--schema", "harbor.pg"),
]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with the files that the commands name, and an operator without configuration."""
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("crew.jsonl").write_bytes(harbor.lines([harbor.sailor("Di")]).read())
    Path("harbor.pg").write_text(harbor.SCHEMA)


def stamp(uri: str, raw: str | None) -> dict[str, str]:
    """Replace the stamp of a graph, and return what is on disk then."""
    lance.dataset(f"{uri}/__manifest").update_schema_metadata({STAMP: raw})
    return old_graphs.contents_of(uri)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("raw", [str(INTERNAL_SCHEMA_VERSION + 1), "banana"])
def test_every_command_refuses_a_stamp_it_does_not_know(
    local_root: str, raw: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    harbor.new_graph(local_root)
    before = stamp(local_root, raw)

    code = main((*command, "--store", local_root))

    assert code != 0
    if command[0] != "init":
        assert ("upgrade omnigraph first" if raw.isdigit() else "'banana'") in capsys.readouterr().err
    assert old_graphs.contents_of(local_root) == before


@pytest.mark.parametrize("read_only", [True, False], ids=["reading", "writing"])
@pytest.mark.parametrize(
    ("raw", "refusal"),
    [(str(INTERNAL_SCHEMA_VERSION + 1), GraphTooNew), ("banana", GraphCorrupt), (None, GraphCorrupt)],
    ids=["newer", "banana", "absent"],
)
def test_opening_is_refused_before_anything_is_written(
    store_root: str, raw: str | None, refusal: type[OmniError], read_only: bool
):
    harbor.new_graph(store_root)
    before = stamp(store_root, raw)

    with pytest.raises(refusal):
        omnigraph.open(store_root, read_only=read_only)

    assert old_graphs.contents_of(store_root) == before


def test_a_stamp_that_moves_up_stops_an_open_handle(local_root: str):
    graph = harbor.new_graph(local_root)
    before = stamp(local_root, str(INTERNAL_SCHEMA_VERSION + 1))

    with pytest.raises(GraphTooNew):
        graph.snapshot()
    with pytest.raises(GraphTooNew):
        graph.load(harbor.lines([harbor.sailor("Di")]), mode="append")

    assert old_graphs.contents_of(local_root) == before
