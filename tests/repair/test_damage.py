"""Repair beside damage: one table that cannot be read is one row, and what can be read of the others is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.cli.main import main
from omnigraph.graph import Graph
from omnigraph.maintenance.repair.drift import Classification
from omnigraph.maintenance.repair.run import RepairAction, RepairReport, RepairRow
from omnigraph.storage.refs import has_ref
from support import harbor

SAILOR = "node:Sailor"


@pytest.fixture
def graph(local_root: str) -> Graph:
    return harbor.new_graph(local_root)


def directory(graph: Graph, type_name: str = "Sailor") -> Path:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)
    return Path(graph.uri) / pin.location


def raw(graph: Graph, type_name: str = "Sailor") -> Any:
    return lance.dataset(str(directory(graph, type_name)))


def garble(*files: Path) -> None:
    for file in files:
        file.write_bytes(b"garbage")


def version_file(table: Path, version: int) -> Path:
    return table / "_versions" / f"{2**64 - 1 - version:020d}.manifest"


def row_of(report: RepairReport, key: str = SAILOR, branch: str = "main") -> RepairRow:
    return next(row for row in report.rows if (row.table_key, row.branch) == (key, branch))


def again(graph: Graph) -> Graph:
    """Open with fresh eyes: an open handle would not notice what happened to the files."""
    return omnigraph.open(graph.uri)


def look(graph: Graph, **options: Any) -> RepairReport:
    return again(graph).repair(**options)


@pytest.mark.parametrize("options", [{}, {"confirm": True}, {"confirm": True, "force": True}])
def test_a_table_that_cannot_be_read_is_a_row_and_the_others_are_healed(
    graph: Graph, options: dict[str, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    graph.load(harbor.lines([harbor.ship("S3")]), mode="append")
    raw(graph, "Ship").optimize.compact_files()
    garble(*(directory(graph) / "_versions").iterdir())

    report = look(graph, **options)

    damaged = row_of(report)
    assert (damaged.classification, damaged.action) == (Classification.UNVERIFIABLE, RepairAction.REFUSED)
    assert damaged.error is not None
    assert f"restore {directory(graph).relative_to(graph.uri)} from a backup" in damaged.error
    assert row_of(report, "node:Ship").action is (RepairAction.HEALED if options else RepairAction.PREVIEW)
    assert len(report.rows) == 5

    flags = [f"--{name}" for name in options]
    code = main(["repair", graph.uri, "--json", *flags])
    shown = capsys.readouterr()
    assert code == 1
    rows = {row["table_key"]: row for row in json.loads(shown.out)["tables"]}
    assert (rows[SAILOR]["action"], rows[SAILOR]["error"]) == ("refused", damaged.error)
    assert "node:Sailor cannot be read" in shown.err
    assert main(["repair", graph.uri, *flags]) == 1
    assert damaged.error in " ".join(capsys.readouterr().out.split())


def test_an_unreadable_ref_of_nobody_keeps_no_table_from_being_looked_at(graph: Graph) -> None:
    graph.branches.create("review/42")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review/42")
    graph.branches.create("other")
    garble(directory(graph) / "_refs" / "branches" / "ghost.123456789abc.json")
    raw(graph, "Ship").delete("id = 'S2'")

    report = look(graph)

    assert {row.table_key: row.action for row in report.rows if row.action is not RepairAction.NOOP} == {
        "node:Ship": RepairAction.PREVIEW
    }
    assert len([row for row in report.rows if row.branch == "review/42"]) == 1


def test_a_branch_whose_ref_of_a_table_cannot_be_read_has_that_row_alone_refused(graph: Graph) -> None:
    graph.branches.create("review/42")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review/42")
    (ref,) = (directory(graph) / "_refs" / "branches").iterdir()
    # As a first write leaves it that was given up: the branch inherits, and has a ref.
    stray = directory(graph, "Ship") / "_refs" / "branches" / ref.name
    stray.parent.mkdir(parents=True)
    garble(stray)

    report = look(graph)

    refused = [(row.branch, row.table_key) for row in report.refused]
    assert refused == [("review/42", "node:Ship")]
    assert row_of(report, SAILOR, "review/42").action is RepairAction.NOOP


def test_a_branch_that_cannot_be_read_is_a_row_and_main_is_looked_at(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review")
    garble(*(Path(graph.uri) / "__manifest" / "tree" / "review" / "_versions").iterdir())
    raw(graph, "Ship").delete("id = 'S2'")

    report = look(graph)

    (refused,) = report.refused
    assert (refused.table_key, refused.branch, refused.manifest_version) == ("__manifest", "review", None)
    assert refused.error is not None
    assert "restore __manifest/tree/review from a backup" in refused.error
    assert row_of(report, "node:Ship").action is RepairAction.PREVIEW


def lose(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize(("harm", "reason"), [(lose, "the file is missing"), (garble, "too short")])
def test_a_version_between_that_cannot_be_read_is_named_beside_the_operations_that_can(
    graph: Graph, harm: Callable[[Path], None], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = raw(graph).version
    raw(graph).delete("id = 'Bo'")
    raw(graph).update({"age": "age + 1"})
    raw(graph).update_config({"owner": "somebody"})
    harm(version_file(directory(graph), pinned + 2))

    row = row_of(look(graph))

    assert row.classification is Classification.UNVERIFIABLE
    assert row.operations == ("Delete", "UpdateConfig")
    assert row.error is not None
    assert f"version {pinned + 2} of" in row.error
    assert reason in row.error
    assert main(["repair", graph.uri]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert row.error in shown
    assert "Delete" in shown
    assert row_of(look(graph, confirm=True, force=True)).action is RepairAction.FORCED
    assert graph.snapshot().table("Sailor").count_rows() == 2


def test_a_pinned_version_that_cannot_be_read_is_named_and_can_be_forced_past(graph: Graph) -> None:
    pinned = raw(graph).version
    raw(graph).delete("id = 'Bo'")
    garble(version_file(directory(graph), pinned))

    row = row_of(look(graph))

    assert row.error is not None
    assert f"version {pinned}, which the graph pins, cannot be read" in row.error
    assert row.operations == ("Delete",)
    assert row_of(look(graph, confirm=True, discard=True)).action is RepairAction.REFUSED


def forge(graph: Graph, type_name: str, **values: Any) -> None:
    """Append a copy of a table's first row with other values, past every check."""
    dataset = raw(graph, type_name)
    like = dataset.to_table(limit=1).to_pylist()[0]
    dataset.insert(pa.Table.from_pylist([like | values], schema=dataset.schema))


def break_rules(graph: Graph) -> None:
    forge(graph, "Sailor", id="Bo", name="Bo", badge=None)
    forge(graph, "Sailor", id="Zed", name="Zed", badge=None, rank="pirate")
    raw(graph, "Ship").delete("id = 'S1'")


BROKEN = [
    "Sailor has 2 rows with the key 'Bo'",
    'invalid enum value "pirate" for Sailor.rank; allowed: captain, deckhand, mate',
    "ServesOn to 'S1': node Ship not found",
]


def test_a_review_names_the_rules_that_publishing_would_break(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    break_rules(graph)

    report = look(graph, review_limit=5)

    sailors, ships = row_of(report).broken, row_of(report, "node:Ship").broken
    assert sailors is not None
    assert ships is not None
    assert dict(sailors.by_code) == {"duplicate_id": 1, "invalid_enum": 1}
    assert [sample["message"] for sample in (*sailors.samples, *ships.samples)] == BROKEN
    assert ships.samples[0] | {"message": ""} == {
        "table_key": "edge:ServesOn",
        "code": "orphan_edge",
        "property": "to",
        "id": "s1",
        "message": "",
    }
    assert main(["repair", graph.uri, "--diff"]) == 0
    shown = capsys.readouterr().out
    assert "publishing breaks declared rules 2 times (1 duplicate id, 1 invalid enum)" in " ".join(shown.split())
    assert all(message in " ".join(shown.split()) for message in BROKEN)
    assert main(["repair", graph.uri, "--diff", "--limit", "1", "--json"]) == 0
    rows = {row["table_key"]: row for row in json.loads(capsys.readouterr().out)["tables"]}
    assert (rows[SAILOR]["broken_constraints"]["total"], len(rows[SAILOR]["broken_constraints"]["samples"])) == (2, 1)
    assert "broken_constraints" not in rows["node:Note"]


def test_forcing_tells_what_it_broke_also_without_a_review_and_in_the_commit(
    graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    break_rules(graph)

    assert main(["repair", graph.uri, "--force", "--confirm"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "now breaks declared rules 2 times" in shown
    assert all(message in shown for message in BROKEN)
    repaired = graph.commits()[0].metadata["repaired"]
    assert repaired[SAILOR]["broken"] == {"duplicate_id": 1, "invalid_enum": 1}
    assert repaired["node:Ship"]["broken"] == {"orphan_edge": 1}


def test_drift_that_keeps_every_rule_says_so(graph: Graph) -> None:
    raw(graph).update({"age": "age + 1"})

    broken = row_of(look(graph, review_limit=5)).broken

    assert broken is not None
    assert (broken.total, broken.unchecked) == (0, None)


def test_a_compaction_needs_no_judging(graph: Graph) -> None:
    graph.load(harbor.lines([harbor.sailor("Kim")]), mode="append")
    raw(graph).optimize.compact_files()

    assert row_of(look(graph, review_limit=5)).broken is None


def rules_broken(graph: Graph) -> dict[str, str]:
    found = [finding for finding in again(graph).health().findings if finding.code == "rules_broken"]
    return {str(member.table_key): member.message for finding in found for member in (finding.members or (finding,))}


def test_health_goes_on_saying_what_a_forced_repair_broke_until_it_is_corrected(
    graph: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    break_rules(graph)
    assert rules_broken(graph) == {}, "what is not published breaks nothing"
    look(graph, confirm=True, force=True)

    told = rules_broken(graph)

    assert set(told) == {SAILOR, "node:Ship"}
    assert all(any(message in text for text in told.values()) for message in BROKEN)
    assert main(["health", graph.uri]) == 2
    assert "a forced repair published rows that break declared rules" in " ".join(capsys.readouterr().out.split())
    again(graph).optimize()
    assert set(rules_broken(graph)) == {SAILOR, "node:Ship"}, "optimize changes no row"

    # As the finding says: export, correct, overwrite.
    fix = next(f.fix for f in again(graph).health().findings if f.code == "rules_broken" and SAILOR in f.tables)
    assert main(fix.split()[1:]) == 0
    exported = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    corrected = {row["data"]["name"]: row for row in exported}
    corrected["Zed"]["data"]["rank"] = "mate"
    again(graph).load(harbor.lines(corrected.values()), mode="overwrite")
    assert set(rules_broken(graph)) == {"node:Ship"}
    again(graph).load(harbor.lines([harbor.ship("S1")]), mode="append")
    assert rules_broken(graph) == {}


def test_health_judges_what_was_forced_on_a_branch_there(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Yo")]), mode="append", branch="review")
    pin = next(pin for pin in graph.snapshot("review").tables if pin.table_key == SAILOR)
    table = lance.dataset(str(directory(graph))).checkout_version((pin.ref, pin.version))
    table.update({"rank": "'pirate'"}, where="id = 'Yo'")
    look(graph, confirm=True, force=True)

    (finding,) = [finding for finding in again(graph).health().findings if finding.code == "rules_broken"]

    assert (finding.table_key, finding.branch) == (SAILOR, "review")
    assert finding.fix.endswith("--branch review")


def test_a_first_write_of_a_branch_goes_on_beside_an_unreadable_ref_of_nobody(graph: Graph) -> None:
    graph.branches.create("review/42")
    refs = directory(graph) / "_refs" / "branches"
    refs.mkdir(parents=True)
    garble(refs / "ghost.123456789abc.json")

    again(graph).load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review/42")

    assert again(graph).snapshot("review/42").table("Sailor").count_rows() == 4


def test_the_ref_of_a_branch_is_found_on_every_store_whatever_the_branch_is_called(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    graph.branches.create("review/42")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review/42")
    pins = {pin.type_name: pin for pin in graph.snapshot("review/42").tables}
    ref, objects = str(pins["Sailor"].ref), graph._context.store.objects

    assert has_ref(objects, pins["Sailor"].location, ref)
    assert not has_ref(objects, pins["Sailor"].location, "review/43")
    assert not has_ref(objects, pins["Ship"].location, ref)
