"""What DuckDB and Spark spell differently."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.catalog.scalars import Scalar, known


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way to spell SQL."""

    quote: str
    """What stands around a name; doubled within it."""
    text: Callable[[str], str]
    anti_join: str
    has_substring: str
    has_prefix: str
    has_member: str
    to_days: str
    to_millis: str
    from_days: str
    from_millis: str
    array: Callable[[Sequence[str]], str]
    struct: Callable[[Mapping[str, str]], str]
    types: Mapping[Scalar, str]

    def type_of(self, scalar: Scalar) -> str:
        """Spell the type in which values of a scalar are computed with."""
        return known(self.types, scalar, "query/sql/dialects.py")

    def moment(self, number: str, scalar: Scalar) -> str:
        """Return a number of days or milliseconds as the date or the time it stands for; any other value as it is."""
        form = {Scalar.DATE: self.from_days, Scalar.DATETIME: self.from_millis}.get(scalar)
        return number if form is None else form.format(number)

    def name(self, name: str) -> str:
        """Quote a name."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"


def _duckdb_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _spark_text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


DUCKDB: Final = Dialect(
    quote='"',
    text=_duckdb_text,
    anti_join="ANTI JOIN",
    has_substring="contains",
    has_prefix="starts_with",
    has_member="list_contains",
    to_days="({} - DATE '1970-01-01')",
    to_millis="epoch_ms({})",
    from_days="(DATE '1970-01-01' + CAST({} AS INTEGER))",
    from_millis="make_timestamptz({} * 1000)",
    array=lambda items: f"[{', '.join(items)}]",
    struct=lambda members: f"{{{', '.join(f'{_duckdb_text(name)}: {value}' for name, value in members.items())}}}",
    types={
        Scalar.STRING: "VARCHAR",
        Scalar.BOOL: "BOOLEAN",
        Scalar.I32: "INTEGER",
        Scalar.I64: "BIGINT",
        Scalar.U32: "UINTEGER",
        Scalar.U64: "UBIGINT",
        Scalar.F32: "FLOAT",
        Scalar.F64: "DOUBLE",
        Scalar.DATE: "INTEGER",
        Scalar.DATETIME: "BIGINT",
    },
)

SPARK: Final = Dialect(
    quote="`",
    text=_spark_text,
    anti_join="LEFT ANTI JOIN",
    has_substring="contains",
    has_prefix="startswith",
    has_member="array_contains",
    to_days="unix_date({})",
    to_millis="unix_millis({})",
    from_days="date_from_unix_date(CAST({} AS INT))",
    from_millis="timestamp_millis({})",
    array=lambda items: f"array({', '.join(items)})",
    struct=lambda members: (
        f"named_struct({', '.join(f'{_spark_text(name)}, {value}' for name, value in members.items())})"
    ),
    types={
        Scalar.STRING: "STRING",
        Scalar.BOOL: "BOOLEAN",
        Scalar.I32: "INT",
        Scalar.I64: "BIGINT",
        Scalar.U32: "BIGINT",
        Scalar.U64: "DECIMAL(20, 0)",
        Scalar.F32: "FLOAT",
        Scalar.F64: "DOUBLE",
        Scalar.DATE: "INT",
        Scalar.DATETIME: "BIGINT",
    },
)
