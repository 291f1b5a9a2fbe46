"""The others that answer the same questions: LadybugDB, Kuzu that it comes from, and Lance called directly."""

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from benchmarks.figures import once, seconds
from benchmarks.query_data import DIMENSION, Data

Values = Mapping[str, Any]
Rows = list[tuple[Any, ...]]
_SLOW = 0.05
"""Where an answer takes so many seconds, handing it out takes no part of them that matters."""
_TABLES = (
    "CREATE NODE TABLE Person(name STRING PRIMARY KEY, age INT32, city STRING)",
    "CREATE REL TABLE Knows(FROM Person TO Person)",
)
_DOCUMENTS = (
    f"CREATE NODE TABLE Doc(title STRING PRIMARY KEY, text STRING, vec FLOAT[{DIMENSION}])",
    "CREATE REL TABLE Wrote(FROM Person TO Doc)",
)


def find_module(name: str) -> Any | None:
    """Import a database that nothing but the benchmark needs, if it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Embedded:
    """A database of LadybugDB or Kuzu; both are called alike."""

    def __init__(self, module: Any, path: Path) -> None:
        self.name = f"{'LadybugDB' if module.__name__ == 'ladybug' else 'Kuzu'} {module.__version__}"
        self._database = module.Database(str(path))
        self._connection = module.Connection(self._database)

    def load(self, data: Data, *, documents: bool = False) -> None:
        """Take all people and edges, or what is needed to search in documents, indexes included."""
        for statement in (*_TABLES, *(_DOCUMENTS if documents else ())):
            self._connection.execute(statement)
        rows = {"Person": data.people} | (
            {"Doc": data.docs, "Wrote": data.wrote} if documents else {"Knows": data.knows}
        )
        for table, content in rows.items():
            self._connection.execute(f"COPY {table} FROM $rows", {"rows": content})

    def run(self, statement: str) -> None:
        """Run a statement for what it does."""
        self._connection.execute(statement)

    def question(self, statement: str, example: Values) -> Callable[[Values], Any]:
        """Prepare a question, and hand out its rows in whichever of two ways is the cheaper one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # what replaces it is a little slower
            prepared = self._connection.prepare(statement)

        def as_rows(values: Values) -> Any:
            return self._connection.execute(prepared, dict(values)).get_all()

        def as_arrow(values: Values) -> Any:
            return self._connection.execute(prepared, dict(values)).get_as_arrow()

        if once(lambda: as_rows(example)) > _SLOW:
            return as_rows
        return min((as_rows, as_arrow), key=lambda ask: seconds(lambda: ask(example)))

    def close(self) -> None:
        """Leave the files to another process."""
        self._connection.close()
        self._database.close()


class RawTables:
    """People and edges as plain Lance tables with an index for each question that is asked by key."""

    def __init__(self, directory: Path, data: Data) -> None:
        self.people = lance.write_dataset(data.people.rename_columns(["id", "age", "city"]), str(directory / "people"))
        self.people.create_scalar_index("id", "BTREE")
        self.knows = lance.write_dataset(data.knows.rename_columns(["src", "dst"]), str(directory / "knows"))
        for end in ("src", "dst"):
            self.knows.create_scalar_index(end, "BTREE")

    def people_where(self, condition: str | None, columns: Sequence[str]) -> pa.Table:
        """Read people."""
        return self.people.scanner(columns=list(columns), filter=condition).to_table()

    def ends_where(self, condition: str, column: str) -> list[str]:
        """Return one end of edges."""
        found: list[str] = self.knows.scanner(columns=[column], filter=condition).to_table()[column].to_pylist()
        return found


def listed(rows: Any) -> Rows:
    """Return the rows of an answer, whatever holds them."""
    if isinstance(rows, pa.Table):
        return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    return [tuple(row) for row in rows]


def among(column: str, values: Sequence[str]) -> str:
    """Write the condition that a column has one of some values."""
    return f"{column} IN ({', '.join(map(repr, values))})" if values else "false"
