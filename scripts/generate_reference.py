"""Write the reference pages that repeat what the code says: `docs/guide/commands.md` and `docs/guide/errors.md`.

python scripts/generate_reference.py            write both pages
python scripts/generate_reference.py --check    change nothing; fail if a page is not what would be written
"""  # noqa: INP001 — a script, not a package

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from omnigraph import errors
from omnigraph.cli.app import PROGRAM, build_app
from omnigraph.cli.command import OmniCommand
from omnigraph.cli.params import GLOBAL_OPTIONS, GlobalOption, Section
from omnigraph.verbs.table import VERBS, Verb

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide"
GENERATED = "<!-- Written by scripts/generate_reference.py: change the code, then run it again. -->"

ABOUT_COMMANDS = """\
Every command, from the code that runs it.
`omnigraph COMMAND --help` shows the same on a terminal.
[Configuration](configuration.md) says how a command finds its graph and what can be set once.

- stdout carries the result and nothing else; the target, notes, warnings, progress and errors go to stderr.
- `--json` prints the result, or the failure, as one document.
- In documents, times of commits, branches and recoveries are integers, microseconds since 1970 in UTC:
  `created_at`, `authored_at`, `recovered_at`, `started_at`, `last_commit_at`.
  Times of locks and maintenance runs are text such as `2026-01-31T18:00:00Z`: `since`, `at`, `looked_at`.
- In documents, `uri` is the address as it was given, and a document names its own branch.
  The branch of a table or of a commit in it is null for `main`.
- Exit codes are those of [errors](errors.md).
- Large work can run on [Spark](../operations/spark.md); [not everything](../README.md#not-yet) is there yet."""

ABOUT_ERRORS = """\
Every failure has a kind: a name that programs may rely on.
Text is for people and may improve.
In Python a kind is a class in `omnigraph.errors`; with `--json` it is the member `kind` of the document on stdout.

| Attribute | Meaning |
| --- | --- |
| `kind` | the name in the tables below |
| `message` | one or two sentences: what happened, to what, what to do; `str(error)` is the same |
| `details` | facts for programs; in the document they stand in a member named like the kind |
| `retry` | who may repeat the operation, and when |
| `effect` | what was durable when the error was raised |

```console
$ omnigraph snapshot harbor.omni --json
{
  "error": "There is no graph at …/harbor.omni. Create one with `omnigraph init --schema FILE …/harbor.omni`.",
  "kind": "graph_not_found",
  "code": "not_found",
  "graph_not_found": {
    "uri": "…/harbor.omni"
  }
}
error: There is no graph at …/harbor.omni. Create one with `omnigraph init --schema FILE …/harbor.omni`.
$ echo $?
1
```"""

ABOUT_DEPRECATED = "These still work, and print a warning that names what to use instead."

ABOUT_STORAGE = """\
A `storage` failure says in `details["storage_kind"]` what the store answered.
A `transient` one ends with exit code 8 instead of 1."""

RETRY_MEANINGS = {
    errors.Retry.NEVER: "The same request gets the same answer.",
    errors.Retry.AFTER_CHANGE: "The input or the flags must change first.",
    errors.Retry.AFTER_REREAD: "The graph moved: read again, decide again.",
    errors.Retry.LATER: "The cause may pass: try again after a pause, if the operation may be repeated.",
    errors.Retry.AFTER_RECOVERY: "An interrupted write must be settled first, with `omnigraph recover`.",
}

EFFECT_MEANINGS = {
    errors.Effect.NONE: "Nothing durable happened.",
    errors.Effect.PUBLISHED: "The write is visible.",
    errors.Effect.UNKNOWN: "It may or may not have happened; the message says how to find out.",
}

EXIT_MEANINGS = {
    0: "success, also when there was nothing to do",
    1: "the operation failed",
    2: "the invocation must change: words, flags, address or configuration",
    3: "a destructive command was not confirmed",
    4: "the expected head is not the head; nothing was written",
    5: "a conflict with the state of the graph; read again and decide",
    6: "the policy of the graph does not allow it to this actor, or no actor was named",
    7: "an interrupted write must be settled first",
    8: "not possible right now: the branch is busy, or the store failed in passing",
    9: "done, but the result could not be printed: stdout is full or closed; stderr names the commit",
    10: "`maintain` has done what it could, and something needs a person",
    130: "interrupted",
    141: "stdout was closed, and nothing was changed",
}

STORAGE_KIND_MEANINGS = {
    "transient": "A timeout, throttling or a broken connection; the cause may pass.",
    "configuration": "Credentials, permissions, a bad location, or a store that lacks something the graph needs.",
    "not_found": "An object or a version is not there.",
    "precondition": "Somebody else wrote first.",
    "permanent": "Something stored is damaged; keep the files.",
    "unknown": "Too little evidence to say.",
}

FAMILY_TITLES = {
    errors.RequestError: "The request must change",
    errors.MissingError: "Something is not there",
    errors.StateConflict: "The graph is in another state",
    errors.OmniError: "Everything else",
}
"""Most special first: a kind is listed under the first class that it belongs to."""

KIND_COLUMNS = ("Kind", "Class", "Exit", "HTTP", "Retry", "Effect", "Meaning")

Row = tuple[str, ...]


def commands_page() -> str:
    """Render the page of all commands and flags."""
    program = build_app()
    context = click.Context(program, info_name=PROGRAM, help_option_names=["-h", "--help"])
    commands = {row: _command(row, program, context) for row in VERBS}
    blocks = ["# Commands", GENERATED, ABOUT_COMMANDS]
    for row, command in commands.items():
        blocks += _command_blocks(row, command, context)
    for title, section in (
        ("Flags that address a graph", Section.ADDRESS),
        ("Flags that say where bulk work runs", Section.ENGINE),
        ("Flags of every command", Section.GENERAL),
    ):
        options: list[click.Parameter] = [option for option in GLOBAL_OPTIONS if option.section is section]
        if section is Section.GENERAL and (help_option := program.get_help_option(context)):
            options.append(help_option)
        blocks += [f"## {title}", _table(("Flag", "Meaning"), _help_rows(options, context))]
    blocks += ["## Deprecated flags", ABOUT_DEPRECATED, _table(("Flag", "On"), _hidden_rows(commands))]
    return "\n\n".join(blocks) + "\n"


def errors_page() -> str:
    """Render the page of all kinds of failure."""
    kinds = [kind for name in errors.__all__ if _is_kind(kind := getattr(errors, name))]
    blocks = ["# Errors", GENERATED, ABOUT_ERRORS]
    for title, heading, meanings in (
        ("Retry", "`retry`", RETRY_MEANINGS),
        ("Effect", "`effect`", EFFECT_MEANINGS),
        ("Exit codes", "Code", EXIT_MEANINGS),
    ):
        blocks += [f"## {title}", _meanings_table(heading, meanings)]
    for family, title in FAMILY_TITLES.items():
        rows = sorted(_kind_row(kind) for kind in kinds if _family(kind) is family)
        blocks += [f"## {title}", f"Base class: `{family.__name__}`.", _table(KIND_COLUMNS, rows)]
    blocks += ["## Kinds of storage failures", ABOUT_STORAGE, _meanings_table("`storage_kind`", STORAGE_KIND_MEANINGS)]
    return "\n\n".join(blocks) + "\n"


def _command(row: Verb, program: click.Group, context: click.Context) -> OmniCommand:
    group = program.get_command(context, row.group) if row.group else program
    command = group.get_command(context, row.name) if isinstance(group, click.Group) else None
    if not isinstance(command, OmniCommand):
        raise TypeError(f"{row.words} is not a command")
    return command


def _command_blocks(row: Verb, command: OmniCommand, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=row.words, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    blocks = [f"## `{PROGRAM} {row.words}`", _one_sentence_per_line(command.help or "")]
    if row.alias:
        older = " ".join(filter(None, (PROGRAM, row.group, row.alias)))
        blocks.append(
            f"`{older}` is the same command{', under a name that is deprecated' if row.group is None else ''}."
        )
    blocks.append(f"```text\n{usage}\n```")
    own = [parameter for parameter in command.params if not isinstance(parameter, GlobalOption)]
    own.sort(key=lambda parameter: isinstance(parameter, click.Option))
    if rows := _help_rows(own, context):
        blocks.append(_table(("Argument or flag", "Meaning"), rows))
    shown = [option for option in GLOBAL_OPTIONS if option.address in row.accepts and not option.hidden]
    if shown:
        blocks.append(f"Addresses: {', '.join(f'`{option.opts[0]}`' for option in shown)}.")
    return [*blocks, "```sh\n" + "\n".join(command.examples) + "\n```"]


def _help_rows(parameters: Iterable[click.Parameter], context: click.Context) -> list[Row]:
    """Return what help says about parameters, without the hidden ones."""
    records = [record for parameter in parameters if (record := parameter.get_help_record(context)) is not None]
    return [(f"`{spelling}`", meaning) for spelling, meaning in records]


def _hidden_rows(commands: dict[Verb, OmniCommand]) -> list[Row]:
    hidden = {
        option.opts[0]: "every command" if isinstance(option, GlobalOption) else f"`{PROGRAM} {row.words}`"
        for row, command in commands.items()
        for option in command.params
        if isinstance(option, click.Option) and option.hidden
    }
    return [(f"`{flag}`", where) for flag, where in sorted(hidden.items())]


def _is_kind(candidate: type) -> bool:
    return issubclass(candidate, errors.OmniError) and "kind" in vars(candidate) and candidate is not errors.OmniError


def _family(kind: type[errors.OmniError]) -> type[errors.OmniError]:
    return next(family for family in FAMILY_TITLES if issubclass(kind, family))


def _kind_row(kind: type[errors.OmniError]) -> Row:
    if kind.exit_code not in EXIT_MEANINGS:
        raise ValueError(f"{kind.__name__} ends with {kind.exit_code}, which has no meaning on this page")
    meaning = " ".join((kind.__doc__ or "").split())
    http = "none" if kind.http_status is None else str(kind.http_status)
    return (f"`{kind.kind}`", f"`{kind.__name__}`", str(kind.exit_code), http, kind.retry, kind.default_effect, meaning)


def _one_sentence_per_line(text: str) -> str:
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return "\n\n".join(paragraph.replace(". ", ".\n") for paragraph in paragraphs)


def _meanings_table(heading: str, meanings: Mapping[Any, str]) -> str:
    return _table((heading, "Meaning"), [(f"`{value}`", meaning) for value, meaning in meanings.items()])


def _table(titles: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` compare them and return 1 if one is stale."""
    pages = {GUIDE / "commands.md": commands_page(), GUIDE / "errors.md": errors_page()}
    if "--check" not in arguments:
        for path, text in pages.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        sys.stderr.write(f"{path.relative_to(ROOT)} is stale: run python scripts/generate_reference.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
