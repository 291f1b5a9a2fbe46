"""`omnigraph embed`: over a graph's rows, or over load files."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.cli import texts
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.flags import RunningCommand
from omnigraph.cli.guard import refuse_foreign_flags
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option, message_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, resolve_storage
from omnigraph.verbs.table import CommandClass, Verb

if TYPE_CHECKING:
    from omnigraph.pipeline.embed.spec import SeedManifest

_OVER_FILES = Verb(words="embed", command_class=CommandClass.LOCAL, is_bulk=True)
_SPEC_EXAMPLE = (
    """echo '{"dimension": 4, "types": {"Artist": {"target": "vec", "fields": ["name"]}}}' > spec.json; """
    "OMNIGRAPH_EMBEDDINGS_MOCK=1 omnigraph embed --input seed.jsonl --output embedded.jsonl --spec spec.json"
)


@command(
    "embed",
    examples=(
        "omnigraph embed art.omni",
        _SPEC_EXAMPLE,
    ),
)
@click.option("--seed", metavar="MANIFEST", help="Over files: a YAML manifest that names input, output and spec.")
@click.option("--input", "source", metavar="PATH", help="Over files: an NDJSON file or a directory of them.")
@click.option("--output", metavar="PATH", help="Over files: what to write; replaced when everything has succeeded.")
@click.option("--spec", metavar="FILE", help="Over files: JSON that says what to embed, by type.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type; repeatable.")
@click.option(
    "--select",
    metavar="[TYPE:]FIELD=VALUE",
    multiple=True,
    help="Over files: embed matching records again; repeatable.",
)
@click.option("--reembed-all", is_flag=True, help="Make vectors that exist again, too.")
@click.option("--reembed_all", "reembed_all_old", is_flag=True, hidden=True)
@click.option("--clean", is_flag=True, help="Over files: remove the vectors instead; needs no provider.")
@branch_option
@message_option
@json_option
def embed(
    invocation: Invocation,
    *,
    seed: str | None,
    source: str | None,
    output: str | None,
    spec: str | None,
    types: tuple[str, ...],
    select: tuple[str, ...],
    reembed_all: bool,
    reembed_all_old: bool,
    clean: bool,
    branch: str,
    message: str | None,
) -> None:
    """Fill in the vectors that texts stand for.

    Given a graph, it fills the @embed vectors that are missing, as one commit. With --seed or --input it works on load
    files and opens no graph. A second run does only what is still missing. The provider, its model and its key come
    from the environment: OMNIGRAPH_EMBED_PROVIDER, OMNIGRAPH_EMBED_MODEL, OPENROUTER_API_KEY, OPENAI_API_KEY,
    GEMINI_API_KEY; OMNIGRAPH_EMBEDDINGS_MOCK=1 needs none of them.
    """
    if reembed_all_old:
        invocation.notices.warn("--reembed_all is deprecated; use --reembed-all")
    reembed_all = reembed_all or reembed_all_old
    choice = resolve_engine(invocation)
    if seed is not None or source is not None:
        if message is not None:
            raise errors.Usage("--message is for a commit, and `embed` over files makes none.", flag="--message")
        _refuse_address(invocation)
        from omnigraph import embed_files

        files = _named_files(seed=seed, source=source, output=output, spec=spec)
        with follow_progress(invocation) as events:
            result = embed_files(
                files.input,
                files.output,
                spec=files.spec,
                reembed_all=reembed_all,
                clean=clean,
                types=types,
                select=select,
                engine=choice,
                events=events,
            )
        invocation.notices.done(f"the new {result.output}")
        invocation.output.show(result, document=documents.embed_document, text=texts.embed_text)
        return
    _refuse_file_flags({"--output": output, "--spec": spec, "--select": select, "--clean": clean})
    target = resolve_storage(invocation)
    actor = invocation.actor()
    echo_target(invocation, target)
    import omnigraph

    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, events=events)
        result = graph.embed(
            types=types,
            branch=branch,
            reembed_all=reembed_all,
            actor=actor,
            message=message,
            engine=choice,
            events=events,
        )
    shown = replace(result, input=target.uri, output=target.uri)
    invocation.output.show(shown, document=documents.embed_document, text=texts.embed_text)


def _named_files(*, seed: str | None, source: str | None, output: str | None, spec: str | None) -> "SeedManifest":
    """Say which files are meant: those of a manifest, or those that the flags name."""
    if seed is not None and source is not None:
        raise errors.Usage("--seed and --input exclude each other: the manifest names the input.", flag="--input")
    from omnigraph.pipeline.embed.spec import EmbedSpec, SeedManifest

    if seed is not None:
        if spec is not None:
            raise errors.Usage("--spec does not go with --seed: the manifest holds the spec.", flag="--spec")
        manifest = SeedManifest.read(seed)
        return replace(manifest, output=output) if output else manifest
    if output is None or spec is None:
        missing = "--output PATH" if output is None else "--spec FILE"
        raise errors.Usage(f"`embed --input` needs {missing}.", flag=missing.partition(" ")[0])
    assert source is not None
    return SeedManifest(input=source, output=output, spec=EmbedSpec.read(spec))


def _refuse_address(invocation: Invocation) -> None:
    """Over files the command addresses no graph: an address given with it is a mistake, not a hint."""
    files_form = RunningCommand(verb=_OVER_FILES, typed=invocation.command.typed)
    refuse_foreign_flags(files_form, invocation.flags)
    if invocation.flags.address is not None:
        raise files_form.addressing_error(
            f"`embed` over files addresses no graph: drop {invocation.flags.address}, or drop --seed and --input to "
            "embed the rows of that graph."
        )


def _refuse_file_flags(given: dict[str, object]) -> None:
    for flag, value in given.items():
        if value:
            raise errors.Usage(
                f"{flag} belongs to `embed` over files; it needs --seed or --input beside it.", flag=flag
            )
