"""Showing the rows of a query, whoever answered it, or writing them to a file."""

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from omnigraph import documents, errors
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.new_files import write_lines, write_parquet, written_text
from omnigraph.cli.output import writing_to_stdout
from omnigraph.cli.query_view import TableStyle, answer_lines

if TYPE_CHECKING:
    from omnigraph.cli.query_view import Format


def show_answer(
    invocation: Invocation, answer: "documents.Answer", *, form: str | None, out: str | None = None
) -> None:
    """Show the rows of an answer, or write them to a new file."""
    result = answer.result
    if out is not None:
        form = _form_of(out, form)
        if form == "parquet":
            rows_written = write_parquet(result.to_arrow(), out)
        else:
            rows_written = write_lines(answer_lines(answer, cast("Format", form), TableStyle()), out, rows=len(result))
        invocation.output.show(
            rows_written, document=lambda written: {"path": written.path, "rows": written.rows}, text=written_text
        )
        return
    if invocation.wants_json:
        invocation.output.show(answer, document=documents.query_document, text=lambda _: ())
        return
    defaults = invocation.config.defaults
    style = TableStyle(width_max=defaults.table_max_column_width, is_wrapped=defaults.table_cell_layout == "wrap")
    lines = answer_lines(answer, cast("Format", form or defaults.output), style)
    with writing_to_stdout():
        sys.stdout.writelines(f"{line}\n" for line in lines)
    invocation.output.has_result = True


def _form_of(out: str, form: str | None) -> str:
    """Choose how a file is written: as --format says, or as its name does."""
    if form is not None:
        return form
    ending = PurePath(out).suffix.lower().removeprefix(".")
    known = {"parquet": "parquet", "csv": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "txt": "table"}
    if ending not in known:
        raise errors.Usage(
            f"--out {out} does not say how to write the rows; end it in .{', .'.join(known)}, or give --format.",
            flag="--out",
        )
    return known[ending]
