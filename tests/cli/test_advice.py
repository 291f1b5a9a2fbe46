"""No message sends people to a command that does not exist, or to a flag that the command does not take.

Every text of the sources is read, with a placeholder for what is put in at run time, and every `omnigraph …` in
backticks is parsed as the program would parse it, flags that do not apply included. So is every example of the help
pages, every command that `health` spells, and every command line of the documentation. What a command says about
itself names only flags that it takes.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import omnigraph
from omnigraph.cli.app import PROGRAM, build_app
from omnigraph.cli.command import OmniCommand
from omnigraph.cli.params import GlobalOption
from omnigraph.cli.usage_errors import not_in_this_version
from omnigraph.maintenance.health.commands import Commands
from omnigraph.verbs.table import VERBS

SOURCE = Path(omnigraph.__file__).parent
TREE = build_app()
PLACEHOLDER = "something"
FIRST_WORDS = {row.words.split()[0] for row in VERBS}
DOCS = SOURCE.parents[1]
_ADVISED = re.compile(r"`omnigraph ([^`]+)`")
_QUOTED = re.compile(r"`([^`\n]+)`")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z_-]*[a-z]")
_FENCE = re.compile(r"^```([a-z]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = re.compile(r"\[[^\]]*\]|…|\.\.\.")
_SHELLS = {"console", "text", "bash", "sh", ""}


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
        for line in (*_ADVISED.findall(text), *filter(is_command_line, _QUOTED.findall(text)))
        if module.parent.name != "base"  # knows nothing of commands
        # A word that is not there, or one from the table of commands.
        if line != PLACEHOLDER or module.name != "usage_errors.py"
    ]


def is_command_line(quoted: str) -> bool:
    """Tell whether what stands in backticks is a command with something behind it, without the program's name."""
    first, *rest = quoted.split()
    return bool(rest) and first in FIRST_WORDS and not {"{", "=", ":"} & set(quoted)


def parse(line: str) -> None:
    """Find the command behind the words and let its parser read the rest; raise `click.UsageError` otherwise."""
    words = shlex.split(_LEFT_OUT.sub("", line))
    # Prose names a flag without its value.
    parse_words([*words, PLACEHOLDER] if takes_value(words) else words)


def parse_words(given_words: list[str]) -> None:
    words = list(given_words)
    command: click.Command = TREE
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
    given, rest, _ = command.make_parser(context).parse_args(words)
    if rest and not isinstance(command, click.Group):
        raise click.UsageError(f"{rest} is too much")
    if isinstance(command, OmniCommand):
        refuse_inapplicable(command, given)


def refuse_inapplicable(command: OmniCommand, given: dict[str, object]) -> None:
    """Raise for a global flag that the guard would refuse, and for a graph where none is taken."""
    for option in command.params:
        if isinstance(option, GlobalOption) and given.get(str(option.name)) and not option.applies_to(command.row):
            raise click.UsageError(f"{option.opts[0]} does not apply to {command.row.words}")


ADVISED = advised()


def test_the_walk_finds_what_messages_advise():
    found = {line for _, line in ADVISED}

    assert len(ADVISED) > 15
    assert f"recover {PLACEHOLDER} --abandon {PLACEHOLDER} --confirm" in found
    assert f"repair {PLACEHOLDER}" in found


@pytest.mark.parametrize(("module", "line"), ADVISED)
def test_a_message_advises_a_command_that_exists(module, line):
    parse(line)


@pytest.mark.parametrize(
    "line",
    [
        "repiar",
        "optimize --no-such-flag",
        "branch create a b c",
        "optimize --server prod",
        "query --as act-lee",
        "version --store art.omni",
        "snapshot --engine spark",
        "init art.omni --profile p",
        "version art.omni",
    ],
)
def test_the_check_refuses_what_does_not_exist(line):
    with pytest.raises(click.UsageError):
        parse(line)


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield what follows `omnigraph` in the command lines of a page: in its blocks for shells, and in its prose."""
    for language, block in _FENCE.findall(text):
        if language in _SHELLS:
            lines = iter(block.replace("\\\n", " ").splitlines())
            for line in lines:
                if language != "console" or line.startswith("$ "):
                    yield from calls_in(whole_line(line.removeprefix("$ "), lines))
    for line in _ADVISED.findall(_FENCE.sub("", text)):
        if "→" in line or line.startswith("COMMAND "):
            continue
        words = shlex.split(_LEFT_OUT.sub("", line))
        yield [*words, PLACEHOLDER] if takes_value(words) else words


def whole_line(line: str, more: Iterator[str]) -> list[str]:
    """Split a line as a shell does; a quote that is still open goes on in the next ones."""
    while True:
        words = shlex.shlex(re.sub(r"\s#\s.*$", "", line), posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, ""
        try:
            return list(words)
        except ValueError:
            line = "\n".join((line, next(more)))


def calls_in(words: list[str]) -> Iterator[list[str]]:
    """Yield the words behind each `omnigraph` that begins a command."""
    starts = [place for place, word in enumerate(words) if word == PROGRAM and begins_command(words[:place])]
    for start in starts:
        behind = words[start + 1 :]
        end = next((place for place, word in enumerate(behind) if word and set(word) <= set("|&;<>()")), len(behind))
        is_stderr = behind[end : end + 1] == [">"] and behind[end - 1] == "2"
        call = behind[: end - 1 if is_stderr else end]
        if "→" not in call:  # which is what a command says, not what is typed
            yield [word for word in call if not word.startswith("[")]


def begins_command(before: list[str]) -> bool:
    return not before or set(before[-1]) <= set("|&;(") or all("=" in word for word in before)


def takes_value(words: list[str]) -> bool:
    """Tell whether a line ends in a flag that needs a value."""
    command = COMMANDS.get(" ".join(words[:2])) or COMMANDS.get(words[0])
    options = command.params if command is not None else ()
    return any(words[-1] in option.opts and not getattr(option, "is_flag", False) for option in options)


PAGES = [
    *(page for page in sorted(DOCS.joinpath("docs").rglob("*.md")) if "design" not in page.parts),
    DOCS / "README.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_documentation_shows_only_commands_that_parse(page):
    wrong = []
    for words in command_lines(page.read_text(encoding="utf-8")):
        try:
            parse_words(words)
        except click.UsageError as problem:
            wrong.append((words, str(problem)))

    assert wrong == []


def flags_taken_in(module: Path) -> set[str]:
    """Return the flags of all commands that a module declares, those that apply to none of them left out."""
    words = [word for word, command in COMMANDS.items() if command.callback.__module__.endswith(f".{module.stem}")]
    return {
        flag
        for word in words
        for option in COMMANDS[word].params
        if isinstance(option, click.Option)
        if not isinstance(option, GlobalOption) or option.applies_to(COMMANDS[word].row)
        for flag in (*option.opts, *option.secondary_opts)
    }


def every_command() -> dict[str, OmniCommand]:
    return {
        command.row.words: command
        for command in commands_of(TREE, click.Context(TREE))
        if isinstance(command, OmniCommand)
    }


def commands_of(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands_of(command, context)


COMMANDS = every_command()
MODULES = sorted({SOURCE / "cli" / "commands" / f"{name.split()[0].replace('-', '_')}.py" for name in COMMANDS})


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_what_a_command_says_names_only_flags_that_it_takes(module):
    said = " ".join(texts(ast.parse(module.read_text(encoding="utf-8"))))
    # A whole line of another command is parsed by the tests above.
    flags = set(_FLAG.findall(re.sub(r"`[^`\n]+`", "", said)))

    assert sorted(flags - flags_taken_in(module)) == []


def test_help_texts_name_only_what_exists():
    context = click.Context(TREE)
    pages = [command.help or "" for command in commands_of(TREE, context)]
    pages += [getattr(param, "help", "") or "" for command in commands_of(TREE, context) for param in command.params]

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


@pytest.mark.parametrize("word", ["server"])
def test_a_word_of_the_wider_product_is_told_from_a_misspelled_one(word, run):
    ran = run(word, "apply")

    assert ran.code == 2
    assert f"`omnigraph {word}` is not part of this version" in ran.err
    assert "nearest" not in ran.err


def test_no_command_of_this_version_is_called_missing():
    assert [name for name in TREE.list_commands(click.Context(TREE)) if not_in_this_version(name)] == []
