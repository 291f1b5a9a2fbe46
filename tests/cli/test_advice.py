"""No message sends people to a command or a flag that does not exist.

Every text of the sources is read, with a placeholder for what is put in at run time, and every `omnigraph …` in
backticks is parsed as the program would parse it. So is every example of the help pages and every command that
`health` spells.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import omnigraph
from omnigraph.cli.app import build_app
from omnigraph.cli.usage_errors import not_in_this_version
from omnigraph.maintenance.health.commands import Commands

SOURCE = Path(omnigraph.__file__).parent
PLACEHOLDER = "something"
_ADVISED = re.compile(r"`omnigraph ([^`]+)`")


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield every text of a module whole: parts that stand side by side or are added up are one text."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.BinOp | ast.JoinedStr | ast.Constant) and (text := spell(node)) is not None:
            inside.update(id(part) for part in ast.walk(node))
            yield text


def spell(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(spell(part) or PLACEHOLDER for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            spelled = spell(left), spell(right)
            return None if spelled == (None, None) else "".join(part or PLACEHOLDER for part in spelled)
    return None


def advised() -> list[tuple[str, str]]:
    return [
        (str(module.relative_to(SOURCE)), line)
        for module in sorted(SOURCE.rglob("*.py"))
        for text in texts(ast.parse(module.read_text(encoding="utf-8")))
        for line in _ADVISED.findall(text)
    ]


def parse(line: str) -> None:
    """Find the command behind the words and let its parser read the rest; raise `click.UsageError` otherwise."""
    words = shlex.split(line.replace("…", ""))
    command: click.Command = build_app()
    context = click.Context(command, info_name="omnigraph", help_option_names=["-h", "--help"])
    while isinstance(command, click.Group):
        word = next((word for word in words if not word.startswith("-")), None)
        if word is None:
            break
        words.remove(word)
        found = command.get_command(context, word)
        if found is None:
            raise click.UsageError(f"there is no command {word}")
        command = found
        context = click.Context(command, parent=context, info_name=word, help_option_names=["-h", "--help"])
    _, rest, _ = command.make_parser(context).parse_args(words)
    if rest and not isinstance(command, click.Group):
        raise click.UsageError(f"{rest} is too much")


ADVISED = advised()


def test_the_walk_finds_what_messages_advise():
    found = {line for _, line in ADVISED}

    assert len(ADVISED) > 15
    assert f"recover {PLACEHOLDER} --abandon {PLACEHOLDER} --confirm" in found
    assert f"repair {PLACEHOLDER}" in found


@pytest.mark.parametrize(("module", "line"), ADVISED)
def test_a_message_advises_a_command_that_exists(module, line):
    if line == PLACEHOLDER and module == "cli/usage_errors.py":
        pytest.skip("names a word that is not there, or one from the table of commands")

    parse(line)


@pytest.mark.parametrize("line", ["cluster apply", "repiar", "optimize --no-such-flag", "branch create a b c"])
def test_the_check_refuses_what_does_not_exist(line):
    with pytest.raises(click.UsageError):
        parse(line)


def commands_of(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands_of(command, context)


def test_help_texts_name_only_what_exists():
    program = build_app()
    context = click.Context(program)
    pages = [command.help or "" for command in commands_of(program, context)]
    pages += [getattr(param, "help", "") or "" for command in commands_of(program, context) for param in command.params]

    lines = [line for page in pages for line in _ADVISED.findall(page)]

    for line in lines:
        parse(line)


def test_health_spells_commands_that_exist():
    commands = Commands(uri="my graph.omni")
    spelled = [
        commands.look_again(),
        commands.optimize("review"),
        commands.optimize_all_branches(),
        commands.repair("review"),
        commands.recover(),
        commands.embed("Ship", "review"),
        commands.embed(None, None),
        commands.preview_cleanup(),
        commands.cleanup(),
        commands.merge("review", into="next", deletes=True),
        commands.delete("review"),
    ]

    for line in spelled:
        parse(line.removeprefix("omnigraph "))


@pytest.mark.parametrize("word", ["cluster", "queries", "serve", "mcp"])
def test_a_word_of_the_wider_product_is_told_from_a_misspelled_one(word, run):
    ran = run(word, "apply")

    assert ran.code == 2
    assert f"`omnigraph {word}` is not part of this version" in ran.err
    assert "nearest" not in ran.err


def test_no_command_of_this_version_is_called_missing():
    program = build_app()

    assert [name for name in program.list_commands(click.Context(program)) if not_in_this_version(name)] == []
