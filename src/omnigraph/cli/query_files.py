"""Rows of a query in a new file; a file that is there is left as it is."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omnigraph import errors
from omnigraph.base.units import counted
from omnigraph.cli.output import Text

if TYPE_CHECKING:
    import pyarrow as pa


class WrittenRows(NamedTuple):
    """Where the rows went."""

    path: str
    rows: int


def write_parquet(rows: "pa.Table", out: str) -> WrittenRows:
    """Write rows as Parquet."""
    from pyarrow import parquet

    path, unfinished = _new_file(out)
    parquet.write_table(rows, unfinished)
    return _finished(path, unfinished, rows.num_rows)


def write_lines(lines: Iterable[str], out: str, *, rows: int) -> WrittenRows:
    """Write rows that have been spelled as text."""
    path, unfinished = _new_file(out)
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    return _finished(path, unfinished, rows)


def written_text(written: WrittenRows) -> Text:
    """Say where the rows are."""
    return [f"wrote {counted(written.rows, 'row')} to {written.path}"]


def _new_file(out: str) -> tuple[Path, Path]:
    path = Path(out)
    if path.exists():
        raise errors.Usage(f"--out {out} is there already; name a new file.", flag="--out")
    if not path.parent.is_dir():
        raise errors.Usage(f"--out {out}: there is no directory {path.parent}.", flag="--out")
    return path, path.with_name(f".{path.name}.{os.getpid()}")


def _finished(path: Path, unfinished: Path, rows: int) -> WrittenRows:
    unfinished.replace(path)
    return WrittenRows(str(path), rows)
