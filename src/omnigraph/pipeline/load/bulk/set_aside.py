"""Bad records, set aside: who reads them writes them down with the reason, and the others are loaded.

That is for what is wrong with a record by itself. What only a graph refuses is found when all records are together
(`refused.py`).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.pipeline.load.record_lines import VALUE, RecordLines
from omnigraph.pipeline.load.tables import RowsOfType
from omnigraph.pipeline.outputs import appearing_file
from omnigraph.records.offences import Offence, OffenceCollector
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.uris import is_bucket_uri

_FINDINGS_MAX = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Where in the scratch the bad records of a partition are, one JSON object per line."""

    name: str
    records: int


class Sieve:
    """Lets the sound rows of one partition through, and keeps the others as lines."""

    def __init__(self, rows: RowsOfType | RecordLines, *, partition: int) -> None:
        self._rows = rows
        self._partition = partition
        self._lines: list[bytes] = []
        self._rows_seen = 0

    def sound(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows without those that no graph of this schema takes."""
        for batch in batches:
            numbers = pa.array(range(self._rows_seen + 1, self._rows_seen + batch.num_rows + 1), pa.int64())
            self._rows_seen += batch.num_rows
            rest = batch
            while found := self._findings(rest):
                places = pa.array(sorted(found), pa.int64())
                self._lines += map(
                    self._line, rest.take(places).to_pylist(), numbers.take(places).to_pylist(), found.values()
                )
                is_sound = pc.invert(pc.is_in(pa.array(range(rest.num_rows), pa.int64()), value_set=places))
                rest, numbers = rest.filter(is_sound), numbers.filter(is_sound)
            yield rest

    def keep(self, scratch: Scratch, name: str) -> SetAside | None:
        """Write down what was held back, if anything was."""
        if not self._lines:
            return None
        scratch.write(name, b"".join(self._lines))
        return SetAside(name=name, records=len(self._lines))

    def _findings(self, batch: pa.RecordBatch) -> dict[int, list[Offence]]:
        """Return what is wrong with rows, by their places in the batch and in their order."""
        findings = OffenceCollector(limit=_FINDINGS_MAX)
        for chunk in self._rows.parse([batch], file_index=0, max_errors=_FINDINGS_MAX, is_start=False):
            findings.include(chunk.findings)
        by_place: dict[int, list[Offence]] = {}
        for finding in findings.result().first:
            if finding.line is not None:
                by_place.setdefault(finding.line - 1, []).append(finding)
        return dict(sorted(by_place.items()))

    def _line(self, row: dict[str, Any], number: int, findings: Sequence[Offence]) -> bytes:
        document = {
            "reason": "; ".join(finding.message for finding in findings),
            "codes": sorted({finding.code.value for finding in findings}),
            "partition": self._partition,
            "row": number,
            "record": row[VALUE] if isinstance(self._rows, RecordLines) else row,
        }
        return json.dumps(document, ensure_ascii=False, default=_spelled).encode(errors="backslashreplace") + b"\n"


def write_down(scratch: Scratch, kept: Iterable[SetAside], more: Sequence[bytes], out: str) -> None:
    """Put what was set aside, and more lines, into one file or object, which replaces what an earlier attempt left."""
    names = [found.name for found in kept]
    if not names and not more:
        return
    if is_bucket_uri(out):
        from omnigraph.storage.bucket import Bucket  # imports the client, which local files do not need

        with TemporaryFile() as file:
            _join(scratch, names, more, file)
            file.seek(0)
            # Reached as the graph's own bucket is, if the graph is in one.
            Bucket(out, scratch.store.settings.storage_options(with_credentials=True)).write(out, file)
        return
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with appearing_file(path) as output:
        _join(scratch, names, more, output)


def _join(scratch: Scratch, names: Iterable[str], more: Sequence[bytes], out: IO[bytes]) -> None:
    for name in names:
        out.write(scratch.read(name))
    out.writelines(more)


def _spelled(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
