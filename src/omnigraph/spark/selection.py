"""What a data frame reads: one type of one graph version, chosen once and carried to every worker."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from omnigraph.engine.local import LocalEngine
from omnigraph.errors import Usage
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.reads.snapshot import Snapshot, SnapshotTable
from omnigraph.spark.options import READ, Options
from omnigraph.storage.filter_text import read_filter
from omnigraph.storage.layout import read_layout
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.writes.context import GraphContext

PARTITION_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSelection:
    """A table state by its address: small, and without credentials, which workers take from their environment."""

    uri: str
    type_name: str
    address: TableAddress
    version: int
    columns: tuple[str, ...]
    where: str | None
    """A filter as Lance takes it."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "TypeSelection":
        """Choose by the options of a reader; the head of a branch is pinned here and now."""
        asked = Options.of(options, READ)
        uri, type_name = asked.required("graph"), asked.required("type")
        context = GraphContext.over(GraphStore.open(uri), LocalEngine())
        table = _snapshot(context, asked).table(type_name)
        named = tuple(name.strip() for name in (asked.get("columns") or "").split(",") if name.strip())
        schema = table.schema
        unknown = [name for name in named if name not in schema.names]
        if unknown:
            raise Usage(f"{table.entity.name} has no column {unknown[0]!r}; it has {', '.join(schema.names)}.")
        return cls(
            uri=uri,
            type_name=table.entity.name,
            address=table.pin.address,
            version=table.pin.version,
            columns=named or tuple(schema.names),
            where=_filter(asked.get("where"), table),
        )

    def open(self) -> Table:
        """Open the table state in this process."""
        return GraphStore.open(self.uri).tables.open(self.address, self.version)

    def spark_schema(self) -> pa.Schema:
        """Return the columns in types that Spark has."""
        return _spark_schema(self.open().scan(self.columns).schema)

    def partitions(self) -> list[tuple[int, ...]]:
        """Divide the fragments into groups of useful size."""
        groups: list[tuple[int, ...]] = []
        rows = PARTITION_ROWS
        for fragment in read_layout(self.open()).fragments:
            if rows + fragment.live_rows > PARTITION_ROWS:
                groups.append(())
                rows = 0
            groups[-1] = (*groups[-1], fragment.fragment_id)
            rows += fragment.live_rows
        return groups

    def read(self, fragment_ids: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some fragments that the filter lets through, in Spark's types."""
        rows = self.open().scan(self.columns, where=self.where, fragment_ids=fragment_ids)
        schema = _spark_schema(rows.schema)
        for batch in rows:
            yield batch.cast(schema)


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the nearest type that Spark has: no unsigned numbers, no fixed lists, microseconds."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_large_binary(kind):
        return pa.binary()
    return kind


def _spark_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, spark_type(field.type), field.nullable) for field in schema])


def _filter(text: str | None, table: SnapshotTable) -> str | None:
    """Read the filter, and let Lance look at it before any worker does."""
    if text is None:
        return None
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
    match asked.only_one_of("commit", "snapshot", "version", "timestampAsOf"):
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
