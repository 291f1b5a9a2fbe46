"""The rows of a query as files that other programs read: CSV, JSON, JSON lines, Parquet."""

import json
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import IO, TYPE_CHECKING

from omnigraph.documents.answers import Answer, query_document

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

_NEEDS_QUOTES = frozenset(',"\r\n')


def csv_lines(answer: Answer) -> Iterator[str]:
    """Spell the rows as CSV, below the names of the columns."""
    yield ",".join(map(_csv_field, answer.result.columns))
    for row in answer.rows():
        yield ",".join("" if value is None else _csv_field(cell_text(value)) for value in row)


def json_document_lines(answer: Answer) -> Iterator[str]:
    """Spell the whole answer as one JSON document."""
    # Not `splitlines`, which also cuts at characters that JSON leaves within a text.
    return iter(json.dumps(query_document(answer), indent=2, ensure_ascii=False).split("\n"))


def json_lines(answer: Answer) -> Iterator[str]:
    """Spell each row as one line of JSON, below a line that says what was asked."""
    result = answer.result
    yield compact_json(
        {
            "kind": "metadata",
            "query_name": result.query_name,
            "target": answer.target(),
            "row_count": len(result),
        }
    )
    for row in answer.rows():
        yield compact_json(dict(zip(result.columns, row, strict=True)))


def write_parquet_rows(rows: "pa.Table", file: "Path | IO[bytes]") -> None:
    """Write rows as Parquet."""
    from pyarrow import parquet

    parquet.write_table(rows, file)


def answer_file(answer: Answer, form: str) -> bytes:
    """Return what a file with the rows holds; `form` is csv, json, jsonl or parquet."""
    if form == "parquet":
        buffer = BytesIO()
        write_parquet_rows(answer.result.to_arrow(), buffer)
        return buffer.getvalue()
    return "".join(f"{line}\n" for line in _LINES_BY_FORM[form](answer)).encode("utf-8")


def cell_text(value: object) -> str:
    """Spell a value in one cell: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else compact_json(value)


def compact_json(value: object) -> str:
    """Spell a value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _csv_field(text: str) -> str:
    if text and not _NEEDS_QUOTES.intersection(text):
        return text
    # Null is an empty field, so the empty text is a quoted one.
    return '"' + text.replace('"', '""') + '"'


_LINES_BY_FORM: Mapping[str, Callable[[Answer], Iterator[str]]] = {
    "csv": csv_lines,
    "json": json_document_lines,
    "jsonl": json_lines,
}
