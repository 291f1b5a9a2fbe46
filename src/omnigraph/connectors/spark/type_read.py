"""What a data frame reads: one type of one graph version, chosen once and carried to every worker."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from omnigraph.base.units import parse_bytes
from omnigraph.catalog.model import TableIdentity
from omnigraph.catalog.type_names import each_name
from omnigraph.connectors.spark.options import PINNED, READ, STATE, Options
from omnigraph.connectors.spark.partitions import FragmentPart, divide
from omnigraph.engine.local import LocalEngine
from omnigraph.engine.spark.types import spark_schema
from omnigraph.errors import InvalidTarget, Usage
from omnigraph.graphs.comparisons import Where, filter_of, no_such_property
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.graphs.snapshot import Snapshot, SnapshotTable
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.blob_columns import BlobForm
from omnigraph.storage.filter_text import read_filter
from omnigraph.storage.layout import read_layout
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table

_BATCH_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRead:
    """A table state by its pin, and what is wanted of it: small, plain data, which travels with the plan of a frame."""

    uri: str
    pin: TablePin
    columns: tuple[str, ...]
    where: str | None
    """A filter as Lance takes it."""
    partition_bytes: int | None = None
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How to reach the store, over what the environment of a worker says; may hold credentials."""

    @classmethod
    def of(cls, options: Mapping[str, str], columns: Sequence[str] | None = None) -> "TypeRead":
        """Choose by the options of a reader; the head of a branch is pinned here and now.

        `columns` is what somebody chose by giving the frame a schema.
        """
        asked = Options.of(options, READ)
        if asked.get(PINNED) is not None:
            return cls._carried(asked)
        uri, type_name = asked.required("graph"), asked.required("type")
        context = GraphContext.over(GraphStore.open(uri, asked.storage), LocalEngine())
        return cls.from_table(
            _snapshot(context, asked).table(type_name),
            uri=context.store.uri,
            columns=columns if columns is not None else _named_columns(asked),
            where=asked.get("where") or (),
            partition_bytes=_partition_bytes(asked),
            storage=asked.storage,
        )

    @classmethod
    def from_table(
        cls,
        table: SnapshotTable,
        *,
        uri: str,
        columns: Sequence[str] | None,
        where: Where,
        partition_bytes: int | None,
        storage: Mapping[str, str],
    ) -> "TypeRead":
        """Choose of an open table: None is all columns, a text is a condition in the SQL that Lance understands."""
        names = tuple(table.schema.names)
        wanted = names if columns is None else each_name(columns)
        for name in wanted:
            if name not in names:
                raise no_such_property(table.entity, name)
        if partition_bytes is not None and partition_bytes < 1:
            raise InvalidTarget(f"The size of a partition is a number of bytes above 0, not {partition_bytes}.")
        return cls(
            uri=uri,
            pin=table.pin,
            columns=tuple(wanted),
            where=_filter(where, table) if isinstance(where, str) else filter_of(table.entity, where),
            partition_bytes=partition_bytes,
            storage=storage,
        )

    def options(self) -> dict[str, str]:
        """Spell the selection as options of the source, which mean the same rows wherever and whenever they are read.

        Ready to travel: the text has no credentials in it; `storage` goes as options of its own.
        """
        text = json.dumps(
            {
                "pin": asdict(self.pin),
                "columns": self.columns,
                "where": self.where,
                "partition_bytes": self.partition_bytes,
            }
        )
        return {"graph": self.uri, "type": self.pin.table_key, PINNED: text, **self.storage}

    @classmethod
    def _carried(cls, asked: Options) -> "TypeRead":
        """Read what `options` spelled."""
        for name in (*STATE, "branch", "columns", "where", "partitionBytes"):
            asked.only_one_of(PINNED, name)
        try:
            known: dict[str, Any] = json.loads(asked.required(PINNED))
            pin: dict[str, Any] = known["pin"]
            return cls(
                uri=asked.required("graph"),
                pin=TablePin(**{**pin, "identity": TableIdentity(**pin["identity"])}),
                columns=tuple(known["columns"]),
                where=known["where"],
                partition_bytes=known["partition_bytes"],
                storage=asked.storage,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Usage(f'The option "{PINNED}" is written by to_spark; leave it as it is, or leave it out.') from error

    def spark_schema(self) -> pa.Schema:
        """Return the columns in types that Spark has."""
        return spark_schema(self._open().scan(self.columns).schema) if self.columns else pa.schema([])

    def parts(self) -> list[FragmentPart]:
        """Divide the table among tasks.

        With a filter fragments stay whole: it would be asked once for each part of one.
        """
        layout = read_layout(self._open())
        return divide(layout.fragments, partition_bytes=self.partition_bytes, may_cut=self.where is None)

    def read(self, part: FragmentPart) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one part that the filter lets through, in Spark's types."""
        if not self.columns and self.where is None:
            yield from _rows_without_columns(part.rows)
            return
        with self._telling_reclaimed():
            rows = self._open().scan(
                self.columns,
                where=self.where,
                fragment_ids=part.fragment_ids,
                offset=part.first_row,
                limit=part.rows if part.first_row is not None else None,
                with_row_ids=not self.columns,
                blobs=BlobForm.CONTENTS,
            )
            schema = spark_schema(pa.schema([rows.schema.field(name) for name in self.columns]))
            for batch in rows:
                if self.columns:
                    yield batch.cast(schema)
                else:
                    yield from _rows_without_columns(batch.num_rows)

    def _open(self) -> Table:
        """Open the table state in this process."""
        return self.pin.state.open(GraphStore.open(self.uri, self.storage).tables)

    @contextmanager
    def _telling_reclaimed(self) -> Iterator[None]:
        context = GraphContext.over(GraphStore.open(self.uri, self.storage), LocalEngine())
        with telling_reclaimed(context, [self.pin]):
            yield


def _rows_without_columns(rows: int) -> Iterator[pa.RecordBatch]:
    """Yield so many rows of nothing, for those who count."""
    counted = pa.RecordBatch.from_arrays([pa.nulls(min(rows, _BATCH_ROWS))], names=["nothing"])
    for start in range(0, rows, _BATCH_ROWS):
        yield counted.slice(0, min(_BATCH_ROWS, rows - start)).select([])


def _named_columns(asked: Options) -> tuple[str, ...] | None:
    """Return the columns that are asked for: all without the option, none if it is empty."""
    if not asked.is_given("columns"):
        return None
    return tuple(name.strip() for name in asked.values["columns"].split(",") if name.strip())


def _partition_bytes(asked: Options) -> int | None:
    text = asked.get("partitionBytes")
    try:
        return parse_bytes(text) if text is not None else None
    except ValueError as error:
        raise Usage(f'The option "partitionBytes": {error}.', flag="partitionBytes") from error


def _filter(text: str, table: SnapshotTable) -> str:
    """Read the filter, and let Lance look at it before any worker does."""
    where = read_filter(text, table.schema.names, what=table.entity.name)
    try:
        table.scanner(filter=where, columns=["id"], limit=1).to_reader().close()
    except (ValueError, OSError) as refusal:
        reason = str(refusal).partition("\n")[0]
        raise Usage(f"Lance does not understand the filter {text!r} of {table.entity.name}: {reason}") from refusal
    return where


def _snapshot(context: GraphContext, asked: Options) -> Snapshot:
    """Find the state that is asked for: a commit, an address, or a branch at a version, at a time or at its head."""
    addresses = context.addresses
    branch = asked.get("branch") or MAIN_BRANCH
    match asked.only_one_of(*STATE):
        case "commit" | "snapshot" as name:
            asked.only_one_of(name, "branch")
            found = addresses.resolve(asked.required(name))
        case "version":
            found = addresses.at_version(branch, asked.number("version") or 0)
        case "timestampAsOf":
            found = addresses.at_moment(branch, read_moment(asked.required("timestampAsOf"), option="timestampAsOf"))
        case _:
            found = addresses.head(branch)
    return Snapshot(context, found.snapshot)


def read_moment(text: str, *, option: str) -> datetime:
    """Read a time as Delta and Iceberg spell it; without a zone it is UTC, whatever zone a session has."""
    if text.isascii() and text.isdecimal():
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Usage(
            f'The option "{option}" is {text!r}; it is a time such as 2026-01-31T18:00:00Z, or milliseconds since '
            "1970.",
            flag=option,
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
