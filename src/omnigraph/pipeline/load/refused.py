"""Records that only this graph refuses: a key that is taken, an edge to a node that is nowhere.

Where bad records are set aside, these are too, and the rest is looked at again: without them, others may be refused.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EntityType
from omnigraph.errors import OmniError
from omnigraph.pipeline.load.writer import IncomingTable, LoadWriter
from omnigraph.records.rendering import render_lines
from omnigraph.records.tables import LINE


def without_refused(writer: LoadWriter, error: OmniError) -> tuple[LoadWriter, list[bytes]] | None:
    """Take the records out that an error names; return the rest, and the others as lines with the reason.

    None if something is wrong that no record of the input stands for: nothing that is left out would cure it.
    """
    by_line: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for entry in error.details.get("errors", ()):
        by_line[entry.get("line", 0)].append(entry)
    if not by_line or 0 in by_line:
        return None
    named = pa.array(sorted(by_line), pa.uint64())
    lines: list[bytes] = []
    rest = {}
    for key, table in writer.incoming.items():
        is_named = pc.is_in(table.rows[LINE], value_set=named).combine_chunks()
        refused, sound = table.rows.filter(is_named), table.rows.filter(pc.invert(is_named))
        lines += [
            _line(by_line[number], number, record)
            for number, record in zip(refused[LINE].to_pylist(), _records(refused, table.entity), strict=True)
        ]
        if sound.num_rows:
            minted = table.minted.filter(pc.invert(is_named))
            rest[key] = IncomingTable(entity=table.entity, rows=sound, minted=minted)
    return replace(writer, incoming=rest, rows_loaded={}), lines


def _records(rows: pa.Table, entity: EntityType) -> Iterator[str]:
    """Spell records as they were given: one that named no id has none."""
    given = rows["id"].to_pylist()
    rows = rows.set_column(rows.schema.get_field_index("id"), "id", pc.fill_null(rows["id"], ""))
    for identity, line in zip(given, render_lines(rows, entity).splitlines(), strict=True):
        record = json.loads(line)
        if identity is None:
            del record["data"]["id"]
        yield json.dumps(record, ensure_ascii=False)


def _line(entries: list[dict[str, Any]], number: int, record: str) -> bytes:
    document = {
        "reason": "; ".join(entry["message"] for entry in entries),
        "codes": sorted({entry["code"] for entry in entries}),
        "row": number,
        "record": record,
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
