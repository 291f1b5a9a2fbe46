"""`omnigraph blob`."""

import sys
from collections.abc import Iterator

import click

from omnigraph import documents, errors
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.new_files import new_file
from omnigraph.cli.output import Text, writing_to_stdout
from omnigraph.cli.params import CallbackT, json_option
from omnigraph.cli.query_state import chosen_branch, chosen_state
from omnigraph.cli.served import open_to_read

_BYTES_MAX = 2**64 - 1


def _selector(function: CallbackT) -> CallbackT:
    """Take the words that name one value, and the state it is looked for in."""
    options = (
        click.argument("entity", metavar="ENTITY", type=click.Choice(("node", "edge"))),
        click.argument("type_name", metavar="TYPE"),
        click.argument("entity_id", metavar="ID"),
        click.argument("property_name", metavar="PROPERTY"),
        click.option("--branch", metavar="BRANCH", help="The branch; default main."),
        click.option(
            "--snapshot", metavar="ADDRESS", help="An older state: a commit id, branch@N, branch@TIME or branch~N."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@command(
    "blob get",
    examples=(
        "omnigraph blob get node Photo sea content photos.omni --out sea.bin",
        "omnigraph blob get node Photo sea content photos.omni --offset 2 --length 4",
    ),
)
@_selector
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="The first byte; default 0.")
@click.option("--length", type=click.IntRange(min=1), metavar="N", help="How many bytes; default all that follow.")
@click.option("--out", metavar="FILE", help="Write the bytes to a new file instead of stdout.")
def blob_get(
    invocation: Invocation,
    *,
    entity: str,
    type_name: str,
    entity_id: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
    offset: int,
    length: int | None,
    out: str | None,
) -> None:
    """Write the bytes of one Blob value, all or a range of them.

    A range that ends behind the value is cut to it. The bytes are read in pieces, however large the value is. A value
    that refers to an object elsewhere is not followed; `omnigraph blob stat` shows its address.
    """
    if offset + (length or 0) > _BYTES_MAX:
        raise errors.Usage("--offset and --length go beyond what can be addressed.", flag="--length")
    line = chosen_branch(branch, snapshot)
    graph = open_to_read(invocation)
    blob = graph.blob(f"{entity}:{type_name}", entity_id, property_name, **chosen_state(line, snapshot))
    pieces = _begun(blob.pieces(offset=offset, length=length))
    if out is not None:
        with new_file(out) as unfinished, unfinished.open("wb") as file:
            file.writelines(pieces)
        return
    with writing_to_stdout():
        sys.stdout.buffer.writelines(pieces)
    invocation.output.has_result = True


def _begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Read the first piece before anything is written: what cannot be read leaves no file."""
    first = next(pieces, b"")

    def all_of_them() -> Iterator[bytes]:
        yield first
        yield from pieces

    return all_of_them()


@command("blob stat", examples=("omnigraph blob stat node Photo sea content photos.omni",))
@_selector
@json_option
def blob_stat(
    invocation: Invocation,
    *,
    entity: str,
    type_name: str,
    entity_id: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
) -> None:
    """Say how large one Blob value is, or which address it holds, without reading it.

    The mark that is shown as etag differs whenever the bytes differ.
    """
    line = chosen_branch(branch, snapshot)
    graph = open_to_read(invocation)
    blob = graph.blob(f"{entity}:{type_name}", entity_id, property_name, **chosen_state(line, snapshot))
    invocation.output.show(
        documents.ShownBlob(blob=blob, branch=line, snapshot=snapshot),
        document=documents.blob_document,
        text=_stat_text,
    )


def _stat_text(shown: "documents.ShownBlob") -> Text:
    blob = shown.blob
    facts = (
        ("value", str(blob.selector)),
        ("kind", blob.kind),
        ("size", None if blob.size is None else f"{blob.size} bytes"),
        ("etag", blob.etag),
        ("uri", blob.uri),
        ("snapshot", blob.commit_id),
    )
    return [f"{name}: {value}" for name, value in facts if value is not None]
