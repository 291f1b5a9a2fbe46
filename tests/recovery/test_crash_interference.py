"""Crash matrix rows where somebody else is involved: foreign commits, moved heads, damaged sidecars, two recoveries."""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.errors import DriftNeedsRepair, RecoveryRequired
from omnigraph.graph import Graph
from omnigraph.writes.pending import sidecars_of
from support import harbor
from support.faulty_s3 import Answer, FaultyS3
from support.harbor import sailors
from support.raw_tables import foreign_append, publish_note
from support.writers import paused_child, resume, run_child

NEW_SAILOR = [harbor.sailor("Flo")]
NEW_SHIP = [harbor.ship("S9")]


def notes(graph: Graph) -> int:
    return graph.snapshot().table("Note").count_rows()


def test_row_15_a_writer_whose_head_moved_undoes_itself_and_the_winner_stays(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "load_merge", "write.after_effects") as child:
        winner = publish_note(graph)
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")
    assert notes(graph) == 1
    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    assert [commit.kind for commit in graph.commits()[:2]] == ["rollback", "mutation"]
    assert graph.commits()[1].graph_commit_id == winner.graph_commit_id
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


def test_row_16_a_foreign_commit_after_ours_blocks_and_destroys_nothing(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    run_child(store_root, "load_append", "write.after_effects:kill")
    version = foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")

    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    recovered = _sweep(store_root)
    assert [blocked.kind for blocked in recovered.blocked] == ["load"]
    with pytest.raises(RecoveryRequired) as refusal:
        harbor.open_with_short_leases(store_root).load(harbor.lines(NEW_SHIP), mode="append")

    operation = recovered.blocked[0].operation_id
    assert operation in str(refusal.value)
    assert "--abandon" in str(refusal.value)
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    head = graph._context.store.tables.head(pin.address)
    assert head.version == version
    assert {"Di", "Zoe"} <= set(head.read(["name"])["name"].to_pylist())


def _sweep(uri: str) -> object:
    graph = harbor.open_with_short_leases(uri)
    found = graph.recover()
    while found.in_use:
        clock.sleep_seconds(0.2)
        found = graph.recover()
    return found


def test_row_17_a_foreign_commit_before_ours_blocks_and_destroys_nothing(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "load_append", "write.after_arm") as child:
        foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "recovery_required")
    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    assert len(harbor.pending(graph)) == 1
    assert [blocked.kind for blocked in graph.recover().blocked] == ["load"]


def test_row_18_drift_is_refused_before_anything_is_armed(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")

    with pytest.raises(DriftNeedsRepair, match="omnigraph repair") as refusal:
        graph.load(harbor.lines(NEW_SAILOR), mode="append")

    assert refusal.value.details["tables"] == ["node:Sailor"]
    assert harbor.pending(graph) == []
    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    graph.load(harbor.lines(NEW_SHIP), mode="append")


def test_a_crash_over_drift_never_adopts_the_foreign_commit(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.after_arm:kill")
    foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")

    settled = graph.recover().recovered

    assert [operation.outcome for operation in settled] == ["dropped"]
    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    with pytest.raises(DriftNeedsRepair):
        graph.load(harbor.lines(NEW_SAILOR), mode="append")


def test_row_21_sidecars_are_settled_oldest_first_each_on_a_fresh_view(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.after_effects:kill")
    (oldest,) = harbor.pending(graph)
    document = json.loads(sidecars_of(graph._context).read_bytes(oldest))
    newer = ids.new_ulid()
    document["operation_id"] = newer
    document["commit"]["graph_commit_id"] = ids.new_ulid()
    for effect in document["effects"]:
        effect["planned"][0]["uuid"] = ids.new_uuid()
    graph._context.store.objects.create(f"__recovery/{newer}.json", json.dumps(document).encode())

    settled = graph.recover().recovered

    assert [(operation.operation_id, operation.outcome) for operation in settled] == [
        (oldest, "rolled_forward"),
        (newer, "dropped"),
    ]
    assert "Di" in sailors(graph)
    assert harbor.pins_equal_heads(graph)


def test_row_23_a_sidecar_that_vanishes_after_the_listing_is_a_finished_writer(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.after_arm:kill")

    with paused_child(local_root, "recover", "recover.after_list") as child:
        (operation,) = harbor.pending(graph)
        sidecars_of(graph._context).forget(operation)
        said = resume(child)

    assert said["ok"] is True
    assert graph.recoveries() == []


@pytest.mark.s3
def test_row_24_a_listing_that_fails_is_loud_for_writers_and_nothing_to_readers(
    s3_root: str, s3_faults: FaultyS3
) -> None:
    graph = harbor.new_graph(s3_root)
    s3_faults.break_next(Answer(500), method="GET", path_contains="__recovery", times=1_000)

    with pytest.raises(omnigraph.errors.StorageError):
        graph.load(harbor.lines(NEW_SAILOR), mode="append")

    assert sailors(omnigraph.open(s3_root, read_only=True)) == {"Ana", "Bo", "Cy"}


DAMAGE = {
    "truncated": lambda content: content[: len(content) // 2],
    "garbage": lambda _: b"\x00not json",
    "newer": lambda content: json.dumps({**json.loads(content), "schema_version": 99}).encode(),
    "renamed": lambda content: json.dumps({**json.loads(content), "operation_id": ids.new_ulid()}).encode(),
    "doubled": lambda content: json.dumps(
        {**json.loads(content), "effects": json.loads(content)["effects"] * 2}
    ).encode(),
}


@pytest.mark.parametrize("damage", sorted(DAMAGE))
def test_row_25_a_damaged_sidecar_blocks_writes_keeps_its_file_and_says_the_way_out(
    local_root: str, damage: str
) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.after_effects:kill")
    (operation,) = harbor.pending(graph)
    content = DAMAGE[damage](sidecars_of(graph._context).read_bytes(operation))
    graph._context.store.objects.put(f"__recovery/{operation}.json", content)

    opened = omnigraph.open(local_root)
    with pytest.raises(RecoveryRequired) as refusal:
        opened.load(harbor.lines(NEW_SHIP), mode="append")

    assert f"__recovery/{operation}.json" in str(refusal.value)
    assert "--abandon" in str(refusal.value)
    if damage == "newer":
        assert "upgrade omnigraph first" in str(refusal.value)
    assert sailors(opened) == {"Ana", "Bo", "Cy"}
    assert sidecars_of(graph._context).read_bytes(operation) == content
    opened.abandon(operation)
    assert [record.recovery_kind for record in opened.recoveries()] == ["abandoned"]
    opened.load(harbor.lines([{"type": "Note", "data": {"text": "works again"}}]), mode="append")
    with pytest.raises(DriftNeedsRepair):
        opened.load(harbor.lines(NEW_SAILOR), mode="append")


def test_a_sidecar_whose_table_is_missing_blocks_and_says_so(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.after_effects:kill")
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Ship")
    Path(local_root, pin.location).rename(Path(local_root).parent / "lost")

    (blocked,) = omnigraph.open(local_root, recover=False).recover().blocked

    assert "node:Ship" in blocked.reason
    Path(local_root).parent.joinpath("lost").rename(Path(local_root, pin.location))
    assert [settled.outcome for settled in graph.recover().recovered] == ["rolled_forward"]


@pytest.mark.s3
@pytest.mark.parametrize(
    ("point", "outcome"), [("write.after_effects", "rolled_forward"), ("write.between_tables", "rolled_back")]
)
def test_row_26_a_writer_paused_past_its_lease_stops_and_changes_nothing_visible(
    s3_root: str, point: str, outcome: str
) -> None:
    graph = harbor.new_graph(s3_root)

    with paused_child(s3_root, "load_append", point) as child:
        swept = _sweep(s3_root)
        after_recovery = harbor.content(graph)
        said = resume(child)

    assert [settled.outcome for settled in swept.recovered] == [outcome]
    assert harbor.content(graph) == after_recovery
    if outcome == "rolled_back":
        assert (said["ok"], said["error"]) == (False, "recovery_required")
    assert harbor.pins_equal_heads(graph)


def test_a_live_writer_is_never_recovered(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "load_append", "write.after_effects") as child:
        swept = omnigraph.open(local_root, recover=False).recover()
        _, other = run_child(local_root, "recover", None)
        said = resume(child)

    assert (swept.recovered, swept.blocked, len(swept.in_use)) == ([], [], 1)
    assert other.get("ok") is not True
    assert said["ok"] is True
    assert "Di" in sailors(graph)
    assert graph.recoveries() == []


def test_row_76_of_two_recoveries_one_works_and_the_other_says_in_use(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.between_tables:kill:1")

    with paused_child(local_root, "recover", "recover.after_rollback_recorded") as child:
        swept = graph.recover()
        said = resume(child)

    assert (swept.recovered, len(swept.in_use)) == ([], 1)
    assert said["ok"] is True
    assert len(graph.recoveries()) == 1
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


def test_row_77_a_roll_forward_whose_head_moved_decides_again_and_is_never_reparented(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "load_append", "write.after_effects:kill")

    with paused_child(local_root, "recover", "recover.before_forward_publish") as child:
        publish_note(graph)
        said = resume(child)

    assert said["ok"] is True
    assert [record.recovery_kind for record in graph.recoveries()] == ["rolled_back"]
    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    assert notes(graph) == 1
    assert harbor.pins_equal_heads(graph)


def test_repeated_crashes_of_one_write_never_climb_a_version_too_high(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    for _ in range(3):
        run_child(local_root, "load_append", "write.between_tables:kill:2")
    status, said = run_child(local_root, "load_append", None)

    assert (status, said["ok"]) == (0, True)
    assert "Di" in sailors(graph)
    assert harbor.pins_equal_heads(graph)
    assert [record.recovery_kind for record in graph.recoveries()] == ["rolled_back"] * 3
