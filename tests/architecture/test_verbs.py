"""Verbs and documents are shared: every command has its verb, and a document knows nothing of the command line."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

import click
import pytest

from omnigraph import documents
from omnigraph.cli.app import _load_command, build_app
from omnigraph.cli.invocation import Invocation
from omnigraph.pipeline.embed.request import EmbedFilesRequest
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.verbs.table import GROUP_SUMMARIES, VERBS, Verb

SOURCE = Path(documents.__file__).parents[1]

SMALL = {
    "blob get",
    "blob stat",
    "branch create",
    "branch delete",
    "branch list",
    "commit list",
    "commit show",
    "health",
    "lint",
    "mcp",
    "ui",
    "query",
    "recover",
    "schema show",
    "shell",
    "snapshot",
    "spark-sql",
}
"""Verbs whose options no more than one function below the doors takes; which state a read means is settled there."""

IMPORTS_ALL = """
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
print([name for name in sys.modules if name.startswith(("omnigraph.cli", "click", "rich"))])
"""


def commands_of(group: click.Group, *words: str) -> set[str]:
    context = click.Context(group)
    found = set()
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        found |= commands_of(command, *words, name) if isinstance(command, click.Group) else {" ".join((*words, name))}
    return found


def declared_commands() -> set[str]:
    """Read off the sources which words `@command` declares, whether or not the tree of commands reaches them."""
    declared = set()
    for module in sorted((SOURCE / "cli" / "commands").glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "command":
                assert isinstance(node.args[0], ast.Constant), module.name
                declared.add(node.args[0].value)
    return declared


def test_every_command_has_a_verb_and_every_verb_a_command() -> None:
    words = {verb.words for verb in VERBS}

    assert len(words) == len(VERBS), "some verb has two rows"
    assert commands_of(build_app()) == words
    assert declared_commands() == words
    assert set(GROUP_SUMMARIES) == {verb.group for verb in VERBS if verb.group is not None}


def test_documents_and_verbs_import_nothing_that_talks_to_people() -> None:
    names = [
        f"omnigraph.{folder}.{module.stem}" if module.stem != "__init__" else f"omnigraph.{folder}"
        for folder in ("documents", "verbs")
        for module in sorted((SOURCE / folder).glob("*.py"))
    ]

    done = subprocess.run(
        [sys.executable, "-c", IMPORTS_ALL.format(names=names)], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == "[]", done.stderr


def test_every_name_of_documents_is_there() -> None:
    tree = ast.parse((SOURCE / "documents" / "__init__.py").read_text())
    imported = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert set(imported) == set(documents.__all__) == set(documents._HOME_BY_NAME)
    for name in documents.__all__:
        assert documents._found(name).__module__ == imported[name], name


def test_every_verb_about_a_graph_has_a_document_and_every_document_is_told_of() -> None:
    about_graphs = {verb.words for verb in VERBS if verb.takes_graph}
    about_policies = {verb.words for verb in VERBS if verb.group in {"policy", "cluster", "queries"}}
    described = {verb.words: verb.document for verb in VERBS if verb.document is not None}

    assert set(described) == about_graphs | about_policies
    assert set(described.values()) <= set(documents.__all__)


def with_request() -> list[Verb]:
    return [verb for verb in VERBS if verb.request is not None]


@pytest.mark.parametrize("verb", with_request(), ids=lambda verb: verb.words)
def test_a_request_is_a_frozen_value_and_flags_have_its_defaults(verb: Verb) -> None:
    request_class = verb.request_class()
    assert request_class is not None
    assert request_class.__dataclass_params__.frozen
    assert all(field.kw_only for field in fields(request_class))

    command = _load_command(verb)
    needed = [parameter for parameter in command.params if parameter.required]
    words = [word for one in needed for word in (("any",) if isinstance(one, click.Argument) else (one.opts[0], "any"))]
    with command.make_context(verb.words, words, obj=Invocation(argv=[], environ={})) as context:
        flags = dict(context.params)
    declared = {field.name: field.default for field in fields(request_class) if field.default is not MISSING}
    shared = set(flags) & set(declared)

    # A flag that was not given is None where only the verb knows what that means.
    assert {name: flags[name] for name in shared if flags[name] is not None} == {
        name: declared[name] for name in shared if flags[name] is not None
    }


DOORS = ("cli/", "server/", "client/", "connectors/spark/", "graph.py", "_graph_data.py", "_graph_upkeep.py")
"""Where users say what they want, keyword by keyword."""
DOORS_BELOW = (
    *("branches/verbs.py", "changes/verbs.py", "changes/feed.py", "graphs/snapshot.py"),
    *("policy/engine.py", "cluster/direct.py"),
)
"""Objects that `Graph` hands out or is given, whose methods users call."""


def requests() -> dict[str, set[str]]:
    """Return the options of each request, by the name of its class; whoever watches belongs to none."""
    classes = {*(verb.request_class() for verb in with_request()), FrameLoadRequest, EmbedFilesRequest}
    return {found.__name__: {field.name for field in fields(found)} for found in classes if found is not None}


def handed_on(module: Path) -> Iterator[tuple[str, str, set[str]]]:
    """Yield each function that hands several of its own keyword arguments on under their names, to what, and which."""
    for function in ast.walk(ast.parse(module.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        own = {argument.arg for argument in function.args.kwonlyargs}
        for call in ast.walk(function):
            if isinstance(call, ast.Call):
                names = {
                    given.arg
                    for given in call.keywords
                    if given.arg in own and isinstance(given.value, ast.Name) and given.value.id == given.arg
                }
                yield function.name, ast.unparse(call.func), names


def test_below_the_doors_options_travel_as_one_request() -> None:
    """Options that are handed on one by one must be spelled, typed and given a default in every signature between."""
    options = requests()

    one_by_one = [
        f"{relative}: {function} hands {sorted(names & of_request)} of {request} on to {callee}"
        for module in sorted(SOURCE.rglob("*.py"))
        if not (relative := str(module.relative_to(SOURCE))).startswith((*DOORS, *DOORS_BELOW))
        for function, callee, names in handed_on(module)
        for request, of_request in options.items()
        if len(names & of_request) > 1 and not callee.rpartition(".")[2][:1].isupper()
    ]

    assert one_by_one == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.takes_graph], ids=lambda verb: verb.words)
def test_a_verb_whose_options_go_further_than_one_function_has_a_request(verb: Verb) -> None:
    """What the rule leaves without a request is listed, so that a verb which grows is looked at again."""
    assert (verb.request is None) == (verb.words in SMALL)
