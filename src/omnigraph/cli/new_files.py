"""Results in a new file; a file that is there is left as it is."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
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
    from omnigraph.documents.answer_files import write_parquet_rows

    with new_file(out) as unfinished:
        write_parquet_rows(rows, unfinished)
    return WrittenRows(out, rows.num_rows)


def write_lines(lines: Iterable[str], out: str, *, rows: int) -> WrittenRows:
    """Write rows that have been spelled as text."""
    with new_file(out) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    return WrittenRows(out, rows)


def written_text(written: WrittenRows) -> Text:
    """Say where the rows are."""
    return [f"wrote {counted(written.rows, 'row')} to {written.path}"]


@contextmanager
def new_file(out: str) -> Iterator[Path]:
    """Give a file to write to, which gets its name when it is whole; a failure leaves nothing."""
    path = Path(out)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists():
            raise errors.Usage(f"--out {out} is there already; name a new file.", flag="--out")
        if not path.parent.is_dir():
            raise errors.Usage(f"--out {out}: there is no directory {path.parent}.", flag="--out")
        try:
            yield unfinished
            unfinished.replace(path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
    except OSError as error:
        raise errors.Io(f"--out {out} cannot be written: {error.strerror or error}.", path=out) from error
