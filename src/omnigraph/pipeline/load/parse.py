"""All input of a load → checked Arrow tables, file after file and chunk after chunk."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, TableKey
from omnigraph.pipeline.load.lines import read_chunks
from omnigraph.pipeline.load.sources import InputFile, InputReader, InputStore
from omnigraph.records.offences import FINDINGS_KEPT, OffenceCollector, Offences
from omnigraph.records.parse import ParsedChunk, parse_chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedInput:
    """The records of all files, or what is wrong with them: input with findings has no tables."""

    tables: Mapping[TableKey, pa.Table]
    """With the columns of `load_schema`, by position; types without records are absent."""
    findings: Offences
    files: tuple[str, ...]
    """Names by file index."""


def parse_input(
    files: Iterable[InputFile],
    *,
    store: InputStore,
    catalog: Catalog,
    max_errors: int = FINDINGS_KEPT,
) -> ParsedInput:
    """Parse all files and hold their rows as Arrow tables; Python objects never exist for more than a chunk."""
    files = tuple(files)
    findings = OffenceCollector(limit=max_errors)
    parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
    for chunk in parse_files(files, store=store, catalog=catalog, max_errors=max_errors):
        findings.include(chunk.findings)
        if findings:
            parts.clear()  # nothing will be loaded; the rest is read to count what is wrong
            continue
        for table_key, table in chunk.tables.items():
            parts[table_key].append(table)
    return ParsedInput(
        tables={table_key: pa.concat_tables(parts[table_key]) for table_key in sorted(parts)},
        findings=findings.result(),
        files=tuple(file.name for file in files),
    )


def parse_files(
    files: Iterable[InputFile], *, store: InputStore, catalog: Catalog, max_errors: int = FINDINGS_KEPT
) -> Iterator[ParsedChunk]:
    """Parse files one chunk after the other, by position."""
    for file in files:
        with InputReader(file, store) as reader:
            for chunk in read_chunks(reader, name=file.name):
                yield parse_chunk(
                    chunk.text,
                    first_line=chunk.first_line,
                    file_index=file.index,
                    catalog=catalog,
                    max_errors=max_errors,
                )
