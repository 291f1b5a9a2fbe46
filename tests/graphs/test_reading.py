"""Reading from Python: by any address, with conditions, into frames, and with SQL over one snapshot."""

import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import (
    EntityNotFound,
    HistoricalVersionReclaimed,
    InvalidTarget,
    MissingPackage,
    QueryFailed,
    SnapshotNotFound,
)
from omnigraph.graph import Graph
from omnigraph.storage.scannable import ScannableTable
from support.graphs import edge, graph_of, node

SCHEMA = """
node Sailor {
    name: String @key
    rank: enum(captain, deckhand, mate)
    age: I32?
    born: Date?
    active: Bool?
    tags: [String]?
    photo: Blob?
    years: I64
}
node Ship { hull: String @key  tons: F64? }
edge ServesOn: Sailor -> Ship { berth: I32? }
"""
CREW = (
    node("Sailor", name="Ana", rank="captain", age=50, born="1976-02-01", tags=["old"], photo="base64:aGk=", years=30),
    node("Sailor", name="Bo", rank="mate", age=34, active=True, years=10),
    node("Sailor", name="Cy", rank="deckhand", years=1),
    node("Ship", hull="S1", tons=1200.5),
    node("Ship", hull="S2"),
    edge("ServesOn", "Ana", "S1", berth=1),
    edge("ServesOn", "Bo", "S1", berth=2),
)


@pytest.fixture
def crew(local_root: str) -> Graph:
    return graph_of(local_root, SCHEMA, *CREW)


def names(rows: pa.Table) -> list[str]:
    return sorted(rows["name"].to_pylist())


def test_any_address_names_a_snapshot(crew: Graph) -> None:
    with crew.write() as batch:
        batch.delete("Sailor", ids=["Cy"])
    past = crew.commits()[1]
    moment = datetime.fromtimestamp(past.created_at_us / 1_000_000, UTC) + timedelta(microseconds=1)
    crew.branches.create("review", source="main~1")

    addresses: list[Any] = ["main@2", "main~1", past.graph_commit_id, f"main@{moment.isoformat()}", moment, "review"]
    found = [
        *(crew.snapshot(address) for address in addresses),
        crew.snapshot(moment.isoformat()),
        crew.snapshot("main", version=2),
        crew.snapshot(branch="main", version=2),
        crew.snapshot(commit=past.graph_commit_id),
        crew.snapshot("main", at=moment),
        crew.snapshot(at=moment.isoformat()),
        crew.snapshot_at("main~1"),
    ]

    assert [snapshot.commit_id for snapshot in found] == [past.graph_commit_id] * len(found)
    assert crew.snapshot().graph_version == 3


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ([7], {}, InvalidTarget),
        (["main"], {"branch": "main"}, InvalidTarget),
        ([], {"version": "2"}, InvalidTarget),
        ([], {"version": 2, "at": datetime.now(UTC)}, InvalidTarget),
        (["main"], {"commit": "01K8F3Q5V0000000000000000A"}, InvalidTarget),
        ([], {"at": 5}, InvalidTarget),
        ([datetime.now()], {}, InvalidTarget),  # noqa: DTZ005 — without a zone
        (["main@99"], {}, SnapshotNotFound),
        (["yesterday: noon"], {}, InvalidTarget),
    ],
)
def test_an_address_that_means_nothing_is_refused_as_such(
    crew: Graph, arguments: list[Any], options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        crew.snapshot(*arguments, **options)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ([], ["Ana", "Bo", "Cy"]),
        ([("age", ">", 30), ("rank", "!=", "mate")], ["Ana"]),
        ([[("age", ">", 40)], [("rank", "=", "deckhand"), ("years", "<", 5)]], ["Ana", "Cy"]),
        ([("rank", "in", ["mate", "captain"])], ["Ana", "Bo"]),
        ([("age", "in", [34, None])], ["Bo", "Cy"]),
        ([("age", "not in", [34])], ["Ana"]),
        ([("age", "in", [])], []),
        ([("born", "in", [date(1976, 2, 1)])], ["Ana"]),
        ("age > 40 or rank = 'deckhand'", ["Ana", "Cy"]),
        ("RANK in ('mate') -- a comment", ["Bo"]),
        ("list_contains(tags, 'old')", ["Ana"]),
        ("born >= date '1976-01-01'", ["Ana"]),
        ("photo is not null", ["Ana"]),
    ],
)
def test_where_takes_comparisons_an_or_of_them_or_sql(crew: Graph, where: Any, expected: list[str]) -> None:
    table = crew.snapshot().table("Sailor")

    assert names(table.to_arrow(where=where)) == expected
    assert names(table.to_arrow(["name"], where=where)) == expected
    assert table.count_rows(where=where) == len(expected)
    assert table.to_arrow(where=where, limit=1).num_rows == min(len(expected), 1)


def test_a_write_selects_by_membership_too(crew: Graph) -> None:
    with crew.write() as batch:
        batch.insert("Sailor", [{"name": "Di", "rank": "mate", "years": 2}])
        batch.update("Sailor", {"age": 20}, where=[("name", "in", ["Di", "Cy"])])
        batch.delete("Sailor", where=[("name", "not in", ["Di", "Cy"])])

    assert crew.snapshot().table("Sailor").to_pandas().set_index("name")["age"].to_dict() == {"Cy": 20, "Di": 20}


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"columns": ["nam"]}, EntityNotFound, r"no property 'nam'; did you mean name\?"),
        ({"where": [("ages", "=", 1)]}, EntityNotFound, r"did you mean age\?"),
        ({"where": [("age", "~", 1)]}, InvalidTarget, "is not a comparison"),
        ({"where": [("age", "=", "old")]}, InvalidTarget, "Sailor.age"),
        ({"where": [("rank", "in", "mate")]}, InvalidTarget, "in a list of values"),
        ({"where": [("age", "=")]}, InvalidTarget, "where is a list of"),
        ({"where": 7}, InvalidTarget, "where is a list of"),
        ({"where": "ages > 1"}, QueryFailed, "ages"),
        ({"where": "age > 1); drop table x; --"}, QueryFailed, "."),
        ({"limit": -1}, InvalidTarget, "limit is a number"),
        ({"limit": "x"}, InvalidTarget, "limit is a number"),
    ],
)
def test_wrong_arguments_are_named(crew: Graph, options: dict[str, Any], error: type[Exception], said: str) -> None:
    table = crew.snapshot().table("Sailor")

    with pytest.raises(error, match=said):
        table.to_arrow(**options)


def test_a_column_alone_is_one_column(crew: Graph) -> None:
    assert crew.snapshot().table("Sailor").to_arrow("name").column_names == ["name"]


def test_whole_numbers_that_may_be_missing_stay_whole_numbers_in_pandas(crew: Graph) -> None:
    frame = crew.snapshot().table("Sailor").to_pandas().set_index("name")

    assert str(frame["age"].dtype) == "Int32"
    assert frame.loc["Ana", "age"] == 50
    assert frame.loc["Cy", "age"] is pd.NA
    assert str(frame["active"].dtype) == "boolean"
    assert str(frame["years"].dtype) == "int64"
    assert str(crew.sql("select age from Sailor").to_pandas()["age"].dtype) == "Int32"


def test_rows_come_as_polars_and_as_a_first_look(crew: Graph) -> None:
    table = crew.snapshot().table("Sailor")

    frame = table.to_polars(["name", "age"], where="age > 40")

    assert isinstance(frame, pl.DataFrame)
    assert frame.rows() == [("Ana", 50)]
    assert table.head(2).num_rows == 2
    assert table.head(columns=["name"]).column_names == ["name"]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_frame_of_a_package_that_is_not_there_names_the_extra(
    crew: Graph, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingPackage, match=rf"pip install 'omnigraph\[{package}\]'") as caught:
        getattr(crew.snapshot().table("Ship"), f"to_{package}")()
    assert caught.value.details == {"package": package, "extra": package}


JOIN = """
    select s.name, h.hull, e.berth
    from ServesOn e join sailor s on s.id = e.src join "node:Ship" h on h.id = e.dst
    where s.age > $age order by s.name
"""


def test_a_query_joins_types_by_name_over_one_snapshot(crew: Graph) -> None:
    result = crew.sql(JOIN, params={"age": 40})
    with crew.write() as batch:
        batch.delete("Sailor", where=[])

    assert result.columns == ("name", "hull", "berth")
    assert result.rows() == [{"name": "Ana", "hull": "S1", "berth": 1}] == list(result)
    assert result.to_arrow().to_pylist() == result.rows()
    assert result.to_polars().rows() == [("Ana", "S1", 1)]
    assert result.to_pandas()["berth"].tolist() == [1]
    assert result.head(0).num_rows == 0
    assert crew.sql(JOIN, params={"age": 40}).rows() == []
    assert crew.sql(JOIN, params={"age": 40}, snapshot="main~1").rows() == result.rows()
    assert crew.snapshot("main~1").sql("select count(*) as n from Sailor").rows() == [{"n": 3}]


def test_a_query_sees_blobs_and_frames_of_the_caller_and_no_variables(crew: Graph) -> None:
    ranks = pd.DataFrame({"rank": ["captain"], "pay": [100]})

    assert crew.sql("select photo from Sailor where photo is not null").rows() == [{"photo": b"hi"}]
    paid = crew.sql("select name, pay from Sailor join ranks using (rank)", frames={"ranks": ranks})
    assert paid.rows() == [{"name": "Ana", "pay": 100}]
    with pytest.raises(EntityNotFound, match="ranks"):
        crew.sql("select * from ranks")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select * frm Sailor", "syntax error"),
        ("select nmae from Sailor", "nmae"),
        ("select * from Salor", r"no type 'Salor' in this graph; did you mean Sailor\?"),
        ("delete from Sailor", "one SELECT at a time, not DELETE"),
        ("select 1; select 2", "SELECT and SELECT"),
        ("", "text of a SELECT"),
        (None, "text of a SELECT"),
        ("select cast(name as integer) from Sailor", "Ana"),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(crew: Graph, query: Any, said: str) -> None:
    with pytest.raises((QueryFailed, EntityNotFound), match=said):
        crew.sql(query).rows()


def test_only_the_columns_and_rows_of_a_query_are_read(crew: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, str]] = []
    scanner = ScannableTable.scanner

    def watched(self: ScannableTable, columns: Any = None, filter: Any = None, **more: Any) -> Any:  # noqa: A002
        asked.append((columns, str(filter)))
        return scanner(self, columns, filter, **more)

    monkeypatch.setattr(ScannableTable, "scanner", watched)
    found = crew.sql("select name from Sailor where age > 40 and rank in ('captain', 'mate')").rows()

    assert found == [{"name": "Ana"}]
    columns, condition = asked[-1]
    assert columns == ["name"] or set(columns) <= {"name", "rank"}
    assert "age > 40" in condition


def test_a_query_over_more_rows_than_a_batch_streams_them(local_root: str) -> None:
    graph = omnigraph.init(local_root, "node P { n: I64 @key }")
    graph.load_table(pa.table({"n": range(200_000)}), type="P", mode="append")

    reader = graph.sql("select n from P").to_reader()

    first = reader.read_next_batch()
    assert first.num_rows < 200_000
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 200_000


def test_a_query_of_a_version_that_is_gone_says_so(crew: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    result = crew.sql("select * from Ship")

    def gone(*_: Any, **__: Any) -> Any:
        raise HistoricalVersionReclaimed("gone", table_key="node:Ship", version=1)
        yield

    monkeypatch.setattr(ScannableTable, "_batches", _recording(gone))
    with pytest.raises(HistoricalVersionReclaimed):
        result.to_arrow()


def _recording(batches: Any) -> Any:
    def recorded(self: ScannableTable, rows: pa.RecordBatchReader) -> Any:
        try:
            yield from batches(rows)
        except HistoricalVersionReclaimed as error:
            self._failures.append(error)
            raise

    return recorded


def test_values_look_short_at_a_prompt_and_like_tables_in_a_notebook(crew: Graph) -> None:
    snapshot = crew.snapshot()
    values = [crew, snapshot, snapshot.table("Sailor"), crew.sql("select name from Sailor"), crew.commits()[0]]
    with crew.write() as batch:
        batch.insert("Ship", [{"hull": "S3"}])
    values += [batch.result, crew.optimize(), crew.health(), crew.repair(), *crew.branches.list()]

    for value in values:
        assert len(repr(value)) < 300
        assert "\n" not in repr(value)
        assert value._repr_html_().startswith("<table>")  # type: ignore[attr-defined]
    assert repr(snapshot.table("Sailor")) == "<SnapshotTable node:Sailor 3 rows>"
    assert "<td>Ana</td>" in snapshot.table("Sailor")._repr_html_()
    assert "&lt;" in graph_html_of("<b>")


def graph_html_of(text: str) -> str:
    from omnigraph.base.showing import html_table

    return html_table(("a",), [(text,)])
