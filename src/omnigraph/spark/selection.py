"""What a data frame reads: one type of one graph version, chosen once and carried to every worker."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.engine.local import LocalEngine
from omnigraph.errors import Usage
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.reads.snapshot import Snapshot
from omnigraph.spark.options import check_options
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

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "TypeSelection":
        """Choose by the options of a reader; the head of a branch is pinned here and now."""
        check_options(options)
        for required in ("graph", "type"):
            if not options.get(required):
                raise Usage(f'The omnigraph source needs .option("{required}", …).', flag=required)
        context = GraphContext.over(GraphStore.open(options["graph"]), LocalEngine())
        table = _snapshot(context, options).table(options["type"])
        named = tuple(name.strip() for name in options.get("columns", "").split(",") if name.strip())
        schema = table.schema
        unknown = [name for name in named if name not in schema.names]
        if unknown:
            raise Usage(f"{table.entity.name} has no column {unknown[0]!r}; it has {', '.join(schema.names)}.")
        return cls(
            uri=options["graph"],
            type_name=table.entity.name,
            address=table.pin.address,
            version=table.pin.version,
            columns=named or tuple(schema.names),
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

    def read(self, fragment_ids: tuple[int, ...], where: str | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some fragments that a filter lets through, in Spark's types."""
        rows = self.open().scan(self.columns, where=where, fragment_ids=fragment_ids)
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


def _snapshot(context: GraphContext, options: Mapping[str, str]) -> Snapshot:
    addresses = context.addresses
    branch = options.get("branch") or MAIN_BRANCH
    if commit := options.get("commit"):
        return Snapshot(context, addresses.at_commit(commit).snapshot)
    if version := options.get("version"):
        if not version.isdecimal():
            raise Usage(f"version is {version!r}; it is a graph version, such as 7.", flag="version")
        return Snapshot(context, addresses.at_version(branch, int(version)).snapshot)
    return Snapshot(context, addresses.head(branch).snapshot)
