"""What could stand where the cursor is in a shell: its commands and their values, or what fits in a query."""

from collections.abc import Iterator, Mapping, Sequence

from omnigraph.cli.shell.statements import MARK, command_of
from omnigraph.query.offers import Offer, Vocabulary, fitting, query_offers


def offers(before: str, vocabulary: Vocabulary, values_by_command: Mapping[str, Sequence[str]]) -> Iterator[Offer]:
    """Yield what fits behind the text before the cursor, the most likely first.

    `values_by_command` has all commands of the shell with the fixed values that their argument can have.
    """
    text = before.lstrip()
    if text.startswith(MARK) and not any(letter.isspace() for letter in text):
        yield from fitting(text, (f"{MARK}{name}" for name in values_by_command), "command")
        return
    command, argument = command_of(text)
    if command is not None and command not in {"explain", "analyze"}:
        typed = argument if not before[-1:].isspace() else ""
        yield from fitting(typed, _values_of(command, vocabulary, values_by_command), command)
        return
    yield from query_offers(before, vocabulary)


def _values_of(command: str, vocabulary: Vocabulary, values_by_command: Mapping[str, Sequence[str]]) -> Sequence[str]:
    match command:
        case "branch" | "snapshot":
            return vocabulary.branches
        case "schema":
            return (*vocabulary.node_types, *vocabulary.edge_types)
        case _:
            return values_by_command.get(command, ())
