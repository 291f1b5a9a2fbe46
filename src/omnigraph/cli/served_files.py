"""What a server streams, in files that appear whole or not at all."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from omnigraph import errors

if TYPE_CHECKING:
    from omnigraph.cli.change_flags import ServedFilters
    from omnigraph.client.remote import RemoteGraph
    from omnigraph.pipeline.export.baseline import BaselineResult
    from omnigraph.pipeline.export.run import ExportResult

_TYPE = re.compile(rb'\{"(?:type|edge)":"((?:[^"\\]|\\.)*)"')
_EDGE = b'{"edge"'


def served_export(
    graph: "RemoteGraph", out: str | BinaryIO, *, branch: str, types: tuple[str, ...], overwrite: bool
) -> "ExportResult":
    """Write the records of a branch to a stream or to one file, and count them."""
    from omnigraph.catalog.model import TableKey
    from omnigraph.pipeline.export.request import ExportFormat
    from omnigraph.pipeline.export.run import ExportResult
    from omnigraph.pipeline.export.side_by_side import TableExported

    with graph.export(branch=branch, types=types) as pieces:
        if isinstance(out, str):
            from omnigraph.pipeline.outputs import appearing_file, given_path

            path = Path(given_path(out, flag="--out"))
            if path.exists() and not overwrite:
                raise errors.NotConfirmed(
                    f"{path} exists already and was left as it is; choose another name, or consent to replacing it "
                    "with --yes.",
                    command="export",
                    target=str(path),
                )
            with appearing_file(path) as stream:
                counts = _copied(pieces, stream)
        else:
            counts = _copied(pieces, out)
    return ExportResult(
        uri=graph.uri,
        branch=branch,
        commit_id=None,
        format=ExportFormat.JSONL,
        out=out if isinstance(out, str) else None,
        tables=tuple(TableExported(table_key=TableKey(key), rows=counts[key]) for key in sorted(counts)),
        engine="server",
        engine_reason="the server decides where its work runs",
    )


def served_baseline(graph: "RemoteGraph", out: str, *, branch: str, filters: "ServedFilters") -> "BaselineResult":
    """Write one state of a branch to a file, and return the cursor of its last line; without one there is no file."""
    from omnigraph.pipeline.export.baseline import BaselineResult, baseline_file

    with baseline_file(out) as stream, graph.baseline(branch=branch, **filters) as pieces:
        rows, last = 0, b""
        for line in _lines(pieces):
            stream.write(line)
            rows, last = rows + 1, line
        found = _cursor(last, graph.uri)
        return BaselineResult(
            snapshot_commit_id=found["snapshot_commit_id"], resume_cursor=found["resume_cursor"], total_rows=rows - 1
        )


def _cursor(line: bytes, url: str) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(line)["baseline"]
    except (ValueError, KeyError, TypeError) as error:
        raise errors.ServerAnswer(
            f"{url} ended a baseline without its cursor, so it is not whole; run again.", url=url, status=200
        ) from error
    return found


def _copied(pieces: Iterator[bytes], out: BinaryIO) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in _lines(pieces):
        out.write(line)
        if (named := _TYPE.match(line)) is not None:
            kind = "edge" if line.startswith(_EDGE) else "node"
            counts[f"{kind}:{named[1].decode()}"] += 1
    return counts


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut pieces at line ends; memory holds one line and one piece, and a long line is put together once."""
    begun: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for part in others:
            yield b"".join((*begun, b"\n"))
            begun = [part]
    if rest := b"".join(begun):
        yield rest
