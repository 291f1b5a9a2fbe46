"""Embedding load files: NDJSON in, NDJSON out, no graph opened.

Two passes over the input. The first only looks, so that a broken line is found before a provider is paid; the second
embeds chunk after chunk. Records that do not change are copied byte for byte.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from omnigraph.base import work
from omnigraph.base.events import EngineChosen, Events, Warned, phase
from omnigraph.base.units import spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineName, Work
from omnigraph.engine.interface import Engine
from omnigraph.engine.local import LocalEngine
from omnigraph.engine.opening import decide, open_engine
from omnigraph.errors import Io
from omnigraph.pipeline.embed.choosing import RecordFilter
from omnigraph.pipeline.embed.chunks import CHUNK_BYTES, embed_chunk, numbered_lines
from omnigraph.pipeline.embed.destination import Destination
from omnigraph.pipeline.embed.file_workers import rewrite_on_workers
from omnigraph.pipeline.embed.records import EmbedJob, EmbedRecord
from omnigraph.pipeline.embed.request import EmbedFilesRequest
from omnigraph.pipeline.embed.result import EmbedResult
from omnigraph.pipeline.embed.workers import EMBEDDING
from omnigraph.pipeline.load.lines import Chunk, read_chunks
from omnigraph.pipeline.load.sources import (
    READING_INPUT,
    CountedInputs,
    InputFile,
    InputReader,
    LocalInputs,
    find_inputs,
)
from omnigraph.pipeline.outputs import given_path
from omnigraph.providers.config import EmbedConfig
from omnigraph.records.offences import Offence, OffenceCollector, Rejected
from omnigraph.records.report import rejected


@dataclass(slots=True)
class _Counts:
    records: int = 0
    selected: int = 0
    embedded: int = 0
    cleaned: int = 0


def run_embed_files(request: EmbedFilesRequest, *, events: Events) -> EmbedResult:
    """Embed the records of a file, or of all files of a directory, and write them to `output` when all is done."""
    input_path, output, spec, choice = Path(request.input), Path(request.output), request.spec, request.engine
    mode = request.mode
    job = EmbedJob(spec=spec, selection=RecordFilter.of(spec, types=request.types, select=request.select), mode=mode)
    for warning in spec.warnings:
        events(Warned(message=warning))
    given_path(request.output, flag="--output")
    files = find_inputs(given_path(request.input, flag="--input"), store=LocalInputs())
    size = sum(file.size_bytes or 0 for file in files)
    with phase(events, READING_INPUT, total=size, unit="bytes") as reading, work.reporting(reading.advance):
        counts = _look(files, job)
    provider = request.config() if counts.embedded else None
    if provider is not None:
        for warning in provider.warnings:
            events(Warned(message=warning))
    is_directory = input_path.is_dir()
    _refuse_foreign_directory(output, is_directory=is_directory)
    destination = Destination(output=output, is_directory=is_directory)
    in_process = LocalEngine()
    engine: Engine = in_process
    reason = spell_bytes(size)
    if provider is not None and decide(choice, Work.EMBED, size).engine is EngineName.SPARK:
        engine, reason = open_engine(
            choice, Work.EMBED, size, local=in_process, worker_environment=provider.key_environment(), events=events
        )
    else:
        events(EngineChosen(engine=engine.name, reason=reason))
    if provider is not None and engine is not in_process:
        rewrite_on_workers(files, destination, job=job, config=provider, engine=engine, events=events)
    else:
        _rewrite(files, destination, job=job, config=provider, total=counts.embedded, events=events)
    return EmbedResult(
        input=str(request.input),
        output=str(request.output),
        records=counts.records,
        selected_records=counts.selected,
        embedded_records=counts.embedded,
        cleaned_records=counts.cleaned,
        mode=mode,
        dimension=spec.dimension,
        model=provider.model if provider is not None else "",
        engine=engine.name,
        engine_reason=reason,
    )


def _look(files: Sequence[InputFile], job: EmbedJob) -> _Counts:
    """Count what a run will do, and raise for the lines that cannot be read."""
    counts, findings = _Counts(), OffenceCollector()
    for file in files:
        for chunk in _chunks(file):
            for number, line in numbered_lines(chunk):
                counts.records += 1
                try:
                    record = EmbedRecord.read(line, job)
                except Rejected as exc:
                    findings.add(Offence(code=exc.code, message=str(exc), file_index=file.index, line=number))
                    continue
                counts.selected += record.is_selected
                counts.embedded += record.needs_vector
                counts.cleaned += record.loses_vector
    if findings:
        raise rejected(findings.result(), files=tuple(file.name for file in files), verb="embed")
    return counts


def _rewrite(
    files: Sequence[InputFile],
    destination: Destination,
    *,
    job: EmbedJob,
    config: EmbedConfig | None,
    total: int,
    events: Events,
) -> None:
    with (
        phase(events, EMBEDDING, total=total, unit="records") as embedding,
        destination.appearing(files) as sinks,
    ):
        for file, sink in sinks:
            for chunk in _chunks(file):
                sink(embed_chunk(chunk, job, config, embedding.advance))


def _chunks(file: InputFile) -> Iterator[Chunk]:
    with InputReader(file, CountedInputs(LocalInputs())) as reader:
        yield from read_chunks(reader, name=file.name, chunk_bytes=CHUNK_BYTES)


def _refuse_foreign_directory(output: Path, *, is_directory: bool) -> None:
    """Refuse to replace a directory by a file, or one that holds anything but load files."""
    if not output.is_dir():
        if is_directory and output.exists():
            raise Io(f"{output} is a file, and a directory of input gives a directory.", path=str(output))
        return
    if not is_directory:
        raise Io(f"{output} is a directory; name the output file.", path=str(output))
    suffixes = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")
    foreign = sorted(path for path in output.rglob("*") if path.is_file() and not path.name.endswith(suffixes))
    if foreign:
        raise Io(
            f"{output} would be replaced, but it holds {foreign[0]}, which is no load file. Choose another output.",
            path=str(output),
        )


__all__ = ["run_embed_files"]
