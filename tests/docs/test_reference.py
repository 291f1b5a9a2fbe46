"""What the code has, the pages mention: commands, flags, kinds of failure, codes, variables, methods."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import omnigraph
from docs.pages import DOCS, GUIDE, LANGUAGE, OPERATIONS, ROOT, language_pages, name_of, user_pages
from omnigraph import errors
from omnigraph.branches.verbs import Branches
from omnigraph.catalog.compile import compile_shape
from omnigraph.cli.app import build_app
from omnigraph.query.lint import SYNTAX_CODE, UNCOVERED_CODE
from omnigraph.query.mistakes import QueryCode
from omnigraph.records.offences import Code
from omnigraph.storage import settings
from omnigraph.writes.batch import WriteBatch

SOURCE = ROOT / "src" / "omnigraph"


def text_of(*pages: Path) -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_generated_pages_are_what_the_code_says():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate_reference.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def flags_of(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        yield from (*parameter.opts, *parameter.secondary_opts) if isinstance(parameter, click.Option) else ()
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from flags_of(command.get_command(context, name), context)


def test_every_flag_is_documented():
    program = build_app()
    documented = text_of(GUIDE / "commands.md")

    flags = set(flags_of(program, click.Context(program, help_option_names=["-h", "--help"])))

    assert {"--data", "--snapshot", "--no-progress", "--target", "-h"} <= flags
    assert [flag for flag in sorted(flags) if not re.search(rf"{flag}\b(?!-)", documented)] == []


def test_every_kind_of_failure_is_documented():
    documented = text_of(GUIDE / "errors.md")
    kinds = {error.kind for error in all_subclasses(errors.OmniError)}

    assert [kind for kind in sorted(kinds) if f"| `{kind}` |" not in documented] == []


def all_subclasses(base: type) -> set[type]:
    return {base}.union(*(all_subclasses(child) for child in base.__subclasses__()))


def test_every_code_of_a_rejected_load_is_documented():
    documented = text_of(GUIDE / "loading.md")

    assert [code.value for code in Code if f"`{code.value}`" not in documented] == []


def test_every_code_of_a_query_that_does_not_fit_is_documented():
    documented = text_of(GUIDE / "queries.md")

    codes = [*(code.value for code in QueryCode), SYNTAX_CODE, UNCOVERED_CODE]

    assert [code for code in codes if f"| `{code}` |" not in documented] == []


def test_every_environment_variable_is_documented():
    documented = text_of(GUIDE / "configuration.md", OPERATIONS / "storage.md", OPERATIONS / "server.md")

    variables = variables_read_by_name() | {
        name.upper() for name in settings.STORAGE_OPTIONS if name.startswith("aws_")
    }

    assert {"OMNIGRAPH_HOME", "OMNIGRAPH_FAILPOINT", "NO_COLOR", "AWS_ALLOW_HTTP"} <= variables
    assert [name for name in sorted(variables) if f"`{name}`" not in documented] == []


def variables_read_by_name() -> set[str]:
    """Find `environ.get("NAME")` and `environ["NAME"]` in the code, with constants put in for their names."""
    trees = [ast.parse(module.read_text(encoding="utf-8")) for module in SOURCE.rglob("*.py")]
    constants = {
        node.targets[0].id: node.value.value
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    read = {name for tree in trees for node in ast.walk(tree) if (name := name_read_by(node)) is not None}
    return {constants.get(name, name) for name in read}


def name_read_by(node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(value=mapping, attr="get"), args=[key, *_]):
            pass
        case ast.Subscript(value=mapping, slice=key):
            pass
        case _:
            return None
    if not ast.unparse(mapping).endswith("environ"):
        return None
    match key:
        case ast.Constant(value=str(name)) | ast.Name(id=name):
            return name
    return None


@pytest.mark.parametrize(
    "public", [omnigraph.Graph, omnigraph.Snapshot, omnigraph.SnapshotTable, omnigraph.Commit, Branches, WriteBatch]
)
def test_every_public_member_is_documented(public):
    documented = text_of(GUIDE / "python.md", GUIDE / "branches.md")

    members = [name for name in dir(public) if not name.startswith("_")]

    assert members
    assert [name for name in members if not re.search(rf"\.{name}\b", documented)] == []


def refused_schemas() -> list[tuple[str, str]]:
    section = text_of(GUIDE / "schema.md").partition("## What is refused")[2]
    return re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE)


@pytest.mark.parametrize(("schema", "message"), refused_schemas())
def test_a_schema_that_the_guide_calls_refused_is_refused_in_those_words(schema, message):
    with pytest.raises(errors.ParseError) as refusal:
        compile_shape(schema, source="schema.pg")

    assert message in str(refusal.value)


def links() -> list[tuple[Path, str]]:
    pages = [*user_pages(), *language_pages(), *DOCS.glob("design/**/*.md"), ROOT / "README.md"]
    return [(page, link) for page in pages for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page))]


@pytest.mark.parametrize(("page", "link"), links(), ids=lambda value: str(value).replace(f"{ROOT}/", ""))
def test_a_link_leads_to_a_page_and_to_a_heading_of_it(page, link):
    if "://" in link:
        return
    path, _, heading = link.partition("#")

    target = (page.parent / path).resolve() if path else page

    assert target.exists()
    if heading:
        assert heading in {slug(title) for title in re.findall(r"^#+ (.+)$", text_of(target), re.MULTILINE)}


def slug(title: str) -> str:
    """Spell a heading as GitHub does in links."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_every_page_can_be_reached_from_the_index():
    index = text_of(DOCS / "README.md")

    pages = [page for page in user_pages() if page.name != "README.md"]

    assert pages
    assert [page.name for page in pages if f"{page.parent.name}/{page.name})" not in index] == []


def test_every_clause_of_the_language_can_be_reached():
    index = text_of(LANGUAGE / "README.md")

    assert "(guide/language/README.md)" in text_of(DOCS / "README.md")
    assert "(language/README.md)" in text_of(GUIDE / "queries.md")
    assert [page.name for page in language_pages() if page.name != "README.md" and f"({page.name})" not in index] == []


@pytest.mark.parametrize("page", [*user_pages(), *language_pages()], ids=name_of)
def test_prose_has_one_sentence_per_line(page):
    prose = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    lines = [re.sub(r"^\d+\. ", "", line) for line in prose.splitlines() if not line.startswith(("|", "<"))]

    assert [line for line in lines if re.search(r"[a-z0-9`)*][.?] [A-Z`]", line)] == []
