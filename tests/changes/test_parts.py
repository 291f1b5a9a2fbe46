"""Changes that are cut into parts: whoever carries them out, together they are what a diff finds."""

import json
import pickle
from itertools import pairwise
from typing import Any

import pytest

from omnigraph.changes import parts
from omnigraph.changes.carrying import carry_out
from omnigraph.changes.feed import Feed
from omnigraph.changes.filters import ChangesRequest
from omnigraph.changes.parts import ChangePart, EntityBucket, Fragments, Whole, batched, plan_parts
from omnigraph.graph import Graph
from omnigraph.records.rendering import render_lines
from omnigraph.storage.locks import list_reader_leases
from support import harbor

Change = tuple[str, str, str, Any, Any]


def planned(graph: Graph) -> list[ChangePart]:
    """Plan the changes of every commit of main, and carry them to where nothing of this process is known."""
    feed = Feed.of_branch(graph._context, "main", ChangesRequest())
    found = [
        part
        for before, cause in pairwise(feed.history())
        for part in plan_parts(graph._context, cause, feed.pairs_of(before, cause), operation_id="plan")
    ]
    return pickle.loads(pickle.dumps(found))


def told(plan: list[ChangePart]) -> list[Change]:
    found = []
    for part in plan:
        for chunk in carry_out(part):
            for op, before, after in (
                ("insert", None, chunk.inserted),
                ("update", chunk.before, chunk.after),
                ("delete", chunk.deleted, None),
            ):
                shown = after if after is not None else before
                images = [
                    [json.loads(line) for line in render_lines(rows, pinned.entity).splitlines()]
                    if rows is not None and pinned is not None
                    else [None] * (shown.num_rows if shown is not None else 0)
                    for rows, pinned in ((before, part.before), (after, part.after))
                ]
                found += [
                    (part.cause.commit_id, op, key(image_of[0] or image_of[1]), *image_of)
                    for image_of in zip(*images, strict=True)
                ]
    return sorted(found, key=str)


def key(record: dict[str, Any]) -> str:
    return f"{record.get('type') or record['edge']}/{record['data']['id']}"


def expected(graph: Graph) -> list[Change]:
    def record(change: Any, image: Any) -> Any:
        if image is None:
            return None
        data = {"id": change.id, **image.properties}
        if image.endpoints is None:
            return {"type": change.type.name, "data": data}
        ends = image.endpoints
        return {"edge": change.type.name, "from": ends.source, "to": ends.target, "data": data}

    page = graph.changes.poll(start="beginning")
    assert page.caught_up
    return sorted(
        [
            (
                block.cause.graph_commit_id,
                change.op.value,
                f"{change.type.name}/{change.id}",
                record(change, change.before),
                record(change, change.after),
            )
            for block in page.blocks
            for change in block.changes
        ],
        key=str,
    )


def eventful(uri: str) -> Graph:
    """A graph in whose history entities came, changed, went and came back, and files moved without any change."""
    graph = harbor.new_graph(uri)
    graph.load(harbor.lines(harbor.sailor(f"s{n}", age=n) for n in range(50)), mode="append")
    with graph.write() as batch:
        batch.update("Sailor", {"age": 7}, ids=[f"s{n}" for n in range(0, 50, 3)])
    graph.load(harbor.lines(harbor.sailor(f"s{n}", age=n % 9) for n in range(40, 60)), mode="merge")
    with graph.write() as batch:
        batch.delete("Sailor", ids=["s1", "s2", "Cy"])
    graph.optimize()
    graph.load(harbor.lines([harbor.sailor("s1"), harbor.sailor("Zoe", "captain")]), mode="merge")
    graph.load(harbor.lines(harbor.ship(f"h{n}") for n in range(3)), mode="append")
    with graph.write() as batch:
        batch.delete("Mentors", ids=["m1"])
        batch.upsert("Sailor", [{"name": "s3", "rank": "captain"}, {"name": "new", "rank": "mate"}])
    return graph


def test_parts_on_every_store_tell_what_the_feed_tells(store_root: str) -> None:
    graph = eventful(store_root)

    plan = planned(graph)

    assert {type(part.share) for part in plan} == {Whole, Fragments}
    assert told(plan) == expected(graph)
    assert list_reader_leases(graph._context.store.objects, store_clock=None) == ()
    assert [part for batch in batched(plan) for part in batch] == plan
    assert max(len(batch) for batch in batched(plan)) > 1


def test_large_changes_are_cut_and_nothing_gets_lost_or_doubled(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = eventful(local_root)
    monkeypatch.setattr(parts, "PART_BYTES", 300)

    plan = planned(graph)

    assert {type(part.share) for part in plan} >= {Fragments, EntityBucket}
    assert max(part.share.count for part in plan if isinstance(part.share, EntityBucket)) > 2
    assert told(plan) == expected(graph)


def test_a_plan_reads_no_rows_and_opens_nothing_for_types_that_stayed(local_root: str) -> None:
    graph = eventful(local_root)
    feed = Feed.of_branch(graph._context, "main", ChangesRequest())
    *_, before, cause = feed.history()

    pairs = feed.pairs_of(before, cause)

    assert [pair.type.name for pair in pairs] == ["Sailor", "Mentors"]
