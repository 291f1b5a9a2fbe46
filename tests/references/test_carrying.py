"""Whatever rewrites rows carries references as they are: it opens none, copies no bytes and mixes up no kinds."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.catalog.admitting import no_blob_bases
from omnigraph.errors import InvalidTarget, MergeConflicts
from support import harbor
from support.merge_ways import WAYS
from support.references import (
    CONTENTS,
    SCANS,
    SCHEMA,
    Value,
    exported,
    filled,
    gallery,
    held,
    opened,
    photo,
    references,
    spelled,
    value_of,
)
from support.served import Declared, make_cluster

SPARK = pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.timeout(900)])
ENGINES = ["local", SPARK]


@pytest.fixture
def museum(tmp_path: Path) -> tuple[Graph, dict[str, Value]]:
    return filled(str(tmp_path / "cluster"), tmp_path / "files")


def set_years(graph: Graph, *names: str, year: int = 7, branch: str = "main") -> None:
    for name in names:
        graph.mutate(
            "query q($name: String, $year: I32) { update Photo set { year: $year } where name = $name }",
            params={"name": name, "year": year},
            branch=branch,
        )


def test_every_kind_is_what_it_was(museum: tuple[Graph, dict[str, Value]]) -> None:
    graph, values = museum

    assert held(graph) == values
    assert value_of(graph, "edge:Shows", "here-small", "mask") == values["here"]
    assert value_of(graph, "edge:Shows", "small-here", "mask") == b"m"


def test_a_mutation_and_a_batch_of_another_property_keep_them(museum: tuple[Graph, dict[str, Value]]) -> None:
    graph, values = museum

    set_years(graph, *values)
    with graph.write() as batch:
        batch.update("Photo", {"year": 8}, ids=list(values))
        batch.update("edge:Shows", {"note": "n"}, ids=["here-small"])

    assert held(graph) == values
    assert graph.snapshot().table("Photo").to_arrow(["year"])["year"].to_pylist() == [8] * len(values)
    assert value_of(graph, "edge:Shows", "here-small", "mask") == values["here"]


def test_an_update_keeps_a_reference_that_would_be_refused_by_now(museum: tuple[Graph, dict[str, Value]]) -> None:
    graph, values = museum
    strict = Graph(replace(graph._context, find_blob_bases=no_blob_bases), read_only=False)

    set_years(strict, *values)
    with strict.write() as batch:
        batch.update("Photo", {"year": 9}, ids=list(values))

    assert held(strict) == values


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verify", [False, True])
def test_optimize_keeps_them(museum: tuple[Graph, dict[str, Value]], engine: str, verify: bool) -> None:
    graph, values = museum
    set_years(graph, "bucket", "here", "small")

    result = graph.optimize(engine=engine, verify=verify)

    rewritten = next(table for table in result.tables if table.table_key == "node:Photo")
    assert (result.failure, rewritten.fragments_removed > 1) == (None, True)
    assert held(graph) == values
    assert value_of(graph, "edge:Shows", "here-small", "mask") == values["here"]


def test_a_deep_verification_finds_nothing_wrong_and_a_cleanup_nothing_to_fetch(
    museum: tuple[Graph, dict[str, Value]],
) -> None:
    graph, values = museum
    set_years(graph, *values)
    graph.optimize()
    graph.cleanup(keep=1, confirm=True)

    report = graph.verify(deep=True)

    assert report.problems == ()
    assert held(graph) == values


@pytest.mark.parametrize("way", ["in process", "in bulk", pytest.param("on Spark", marks=SPARK.marks)])
def test_a_merge_of_branches_keeps_them_and_compares_them_by_their_address(
    museum: tuple[Graph, dict[str, Value]], way: str
) -> None:
    graph, values = museum
    graph.branches.create("review")
    new = f"{SCANS}new.jpg"
    graph.load(harbor.lines([photo("bucket", new), photo("fresh", f"{SCANS}f")]), mode="merge", branch="review")
    set_years(graph, "missing", branch="review")
    set_years(graph, "here", "large")
    # The same address on both sides is the same value, and no conflict.
    graph.load(harbor.lines([photo("small", f"{SCANS}same")]), mode="merge", branch="review")
    graph.load(harbor.lines([photo("small", f"{SCANS}same")]), mode="merge")

    result = graph.branches.merge("review", engine=WAYS[way])

    assert result.outcome == "merged"
    assert held(graph) == values | {"bucket": new, "fresh": f"{SCANS}f", "small": f"{SCANS}same"}


@pytest.mark.parametrize("way", ["in process", "in bulk"])
def test_two_addresses_and_an_address_against_content_are_conflicts(
    museum: tuple[Graph, dict[str, Value]], way: str
) -> None:
    graph, _ = museum
    graph.branches.create("review")
    graph.load(harbor.lines([photo("bucket", f"{SCANS}1"), photo("null", b"x")]), mode="merge", branch="review")
    graph.load(harbor.lines([photo("bucket", f"{SCANS}2"), photo("null", f"{SCANS}x")]), mode="merge")

    with pytest.raises(MergeConflicts) as caught:
        graph.branches.merge("review", engine=WAYS[way])

    assert len(caught.value.document()["merge_conflicts"]) == 2
    assert held(graph)["null"] == f"{SCANS}x"


def test_changes_and_diffs_tell_the_address(museum: tuple[Graph, dict[str, Value]]) -> None:
    graph, _ = museum
    before = graph.snapshot().commit_id
    graph.load(harbor.lines([photo("bucket", f"{SCANS}2"), photo("empty", f"{SCANS}3")]), mode="merge")
    set_years(graph, "here")

    found = {change.id: (change.before, change.after) for change in graph.diff(before, "main")}

    contents = {name: [image.properties["content"] for image in pair] for name, pair in found.items()}
    assert contents["bucket"] == [f"{SCANS}a%20b.jpg", f"{SCANS}2"]
    assert contents["empty"] == ["base64:", f"{SCANS}3"]
    assert contents["here"][0] == contents["here"][1] != "base64:"


def test_renaming_and_adding_columns_keeps_them(tmp_path: Path) -> None:
    """The schema of an applied graph is its cluster's, which reshapes tables by the same steps."""
    from omnigraph.evolution.plan import SchemaRequest
    from omnigraph.evolution.run import apply_schema

    graph, values = filled(str(tmp_path / "cluster"), tmp_path / "files")
    renamed = (
        'node Photo { name: String @key\n picture: Blob? @rename_from("content")\n year: I32?\n place: String?\n'
        " thumb: Blob? }\nedge Shows: Photo -> Photo { mask: Blob?\n note: String? }\n"
    )

    apply_schema(graph._context, SchemaRequest(schema=renamed, schema_source="<schema>"), events=lambda _: None)

    assert held(graph, column="picture") == values
    assert set(held(graph, column="thumb").values()) == {None}
    graph.optimize()
    assert held(graph, column="picture") == values


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("out", ["stream", "directory"])
def test_an_export_has_the_address_and_loads_again_into_a_graph_of_the_same_policy(
    tmp_path: Path, out: str, engine: str
) -> None:
    root, files = str(tmp_path / "cluster"), tmp_path / "files"
    gallery(root, files, ("art", "copy"))
    graph, copy = opened(root), opened(root, "copy")
    values = {**CONTENTS, **references(files)}
    graph.load(harbor.lines([photo(name, value) for name, value in values.items()]), mode="append", engine=engine)
    if out == "stream":
        stream = io.BytesIO()
        graph.export(stream)
        given = io.BytesIO(stream.getvalue())
    else:
        graph.export(str(tmp_path / "out") + "/", engine=engine)
        given = str(tmp_path / "out")

    copy.load(given, mode="overwrite", engine=engine)

    assert held(graph) == held(copy) == values
    assert exported(copy) == exported(graph)
    assert {each["data"]["content"] for each in exported(copy)} == {spelled(value) for value in values.values()}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_that_repeats_rows_changes_nothing_and_one_that_replaces_some_keeps_the_others(
    museum: tuple[Graph, dict[str, Value]], engine: str
) -> None:
    graph, values = museum
    before = graph.snapshot().commit_id

    same = graph.load(harbor.lines([photo(*each) for each in values.items()]), mode="merge", engine=engine)
    changed = {"bucket": f"{SCANS}other", "here": b"own bytes", "small": f"{SCANS}small", "missing": None}
    graph.load(harbor.lines([photo(*each) for each in changed.items()]), mode="merge", engine=engine)

    assert (same.commit, graph.snapshot("main~1").commit_id) == (None, before)
    assert held(graph) == values | changed


@pytest.mark.parametrize("form", ["parquet", "lance"])
def test_an_export_of_plain_columns_refuses_references_and_leaves_nothing(
    museum: tuple[Graph, dict[str, Value]], tmp_path: Path, form: str
) -> None:
    graph, _ = museum

    with pytest.raises(InvalidTarget, match=r"content refers to objects elsewhere.*jsonl"):
        graph.export(str(tmp_path / "out"), format=form, types=["Photo"])

    assert not (tmp_path / "out").exists()


def test_plain_columns_of_any_reader_refuse_references(museum: tuple[Graph, dict[str, Value]]) -> None:
    graph, values = museum
    table = graph.snapshot().table("Photo")

    with pytest.raises(InvalidTarget, match="elsewhere"):
        table.to_arrow()
    with pytest.raises(InvalidTarget, match="elsewhere"):
        graph.sql('select * from "Photo"').to_arrow()
    assert graph.sql('select count(*) as n from "Photo"').to_arrow()["n"].to_pylist() == [len(values)]
    own = table.to_arrow(["name", "content"], where=[("name", "in", list(CONTENTS))]).to_pylist()
    assert {row["name"]: row["content"] for row in own} == CONTENTS


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_frame_of_spark_refuses_references_and_reads_the_rest(
    museum: tuple[Graph, dict[str, Value]], spark: Any
) -> None:
    graph, values = museum
    snapshot = graph.snapshot()

    with pytest.raises(Exception, match="refers to objects elsewhere"):
        snapshot.to_spark(spark, "Photo", columns=["content"]).collect()
    assert {row["name"] for row in snapshot.to_spark(spark, "Photo", columns=["name"]).collect()} == set(values)


def test_a_table_of_lance_hands_its_references_to_the_policy(tmp_path: Path) -> None:
    import lance

    root, files = str(tmp_path / "cluster"), tmp_path / "files"
    gallery(root, files)
    graph = opened(root)
    values = {**CONTENTS, **references(files)}
    schema = pa.schema([pa.field("name", pa.string()), lance.blob_field("content")])
    rows = pa.table([pa.array(values), lance.blob_array(list(values.values()))], schema=schema)
    lance.write_dataset(
        rows, str(tmp_path / "t.lance"), data_storage_version="2.2", allow_external_blob_outside_bases=True
    )

    graph.load(str(tmp_path / "t.lance"), type="Photo", mode="append")

    assert held(graph) == values
    make_cluster(str(tmp_path / "other"), {"art": Declared(schema=SCHEMA, seed="", queries=None)})
    with pytest.raises(Exception, match="external object"):
        opened(str(tmp_path / "other")).load(str(tmp_path / "t.lance"), type="Photo", mode="append")
