"""What the statements of a shell do: queries, mutations, and the commands that start with a colon."""

import json
import sys
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, cast

from omnigraph import documents, errors
from omnigraph.base import clock
from omnigraph.base.nearest import nearest
from omnigraph.base.units import shorten
from omnigraph.base.values import Json, dataclass
from omnigraph.cli import texts
from omnigraph.cli.output import Output, ResultT, Text, write_json, writing_to_stdout
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.query_view import FORMATS, Format, TableStyle, answer_lines, explanation_text
from omnigraph.cli.shell.help_text import HELP, VALUES_BY_COMMAND
from omnigraph.cli.shell.statements import MARK, SOURCE, command_of
from omnigraph.query.offers import Vocabulary

if TYPE_CHECKING:
    from omnigraph.cli.invocation import Invocation
    from omnigraph.graph import Graph
    from omnigraph.language.query.syntax import QuerySyntax


@dataclass(slots=True, kw_only=True)
class Settings:
    """What the commands of a shell change."""

    branch: str
    snapshot: str | None = None
    form: Format = "table"
    has_timing: bool = False
    values: dict[str, str] = field(default_factory=dict)
    """Parameters by name, as they were written."""

    @property
    def address(self) -> str:
        """The state that is read."""
        return self.snapshot or self.branch


class Session:
    """One graph, what is read of it and how answers look; mutations open it once more, to write."""

    def __init__(
        self, invocation: "Invocation", graph: "Graph", *, uri: str, settings: Settings, is_read_only: bool
    ) -> None:
        self._invocation = invocation
        self._graph = graph
        self._uri = uri
        self.settings = settings
        self._is_read_only = is_read_only
        self._to_write: Graph | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "branch": self._choose_branch,
            "snapshot": self._choose_snapshot,
            "schema": self._show_schema,
            "explain": lambda text: self._explain(text, is_run=False),
            "analyze": lambda text: self._explain(text, is_run=True),
            "param": self._choose_value,
            "format": self._choose_form,
            "timing": self._choose_timing,
            "help": lambda _: self._say(HELP),
        }

    def answer(self, statement: str) -> bool:
        """Run a statement and show its answer; return whether the shell goes on. Raises what went wrong."""
        self._invocation.notices.published.clear()  # the answers to earlier statements have said it
        command, text = command_of(statement)
        if command in {"quit", "exit"}:
            return False
        if command is None:
            self._timed(lambda: self._run_queries(text))
        elif command in self._commands:
            self._commands[command](text)
        else:
            meant = nearest(command, VALUES_BY_COMMAND)
            hint = f"did you mean {MARK}{meant}?" if meant else f"{MARK}help lists them."
            raise errors.Usage(f"The shell has no command `{MARK}{shorten(command)}`; {hint}")
        return True

    def vocabulary(self) -> Vocabulary:
        """Return the names that can be completed now."""
        with self._graph.snapshot(self.settings.address) as snapshot:
            return Vocabulary.of(snapshot.catalog, (branch.name for branch in self._graph.branches.list()))

    def _timed(self, run: Callable[[], None]) -> None:
        began = clock.monotonic_seconds()
        run()
        if self.settings.has_timing:
            self._invocation.notices.echo(f"time: {(clock.monotonic_seconds() - began) * 1_000:.1f} ms")

    def _run_queries(self, text: str) -> None:
        from omnigraph.language.query import parse_queries
        from omnigraph.language.query.syntax import MutationSyntax

        for query in parse_queries(text, source=SOURCE).queries:
            if isinstance(query.body, MutationSyntax):
                self._mutate(text, query)
            else:
                self._query(text, query)

    def _query(self, text: str, query: "QuerySyntax") -> None:
        settings = self.settings
        result = self._graph.query(
            text, query.name.text, params=self._values(query), snapshot=settings.address, query_source=SOURCE
        )
        answer = documents.Answer(result=result, branch=settings.branch, snapshot=settings.snapshot)
        defaults = self._invocation.config.defaults
        style = TableStyle(width_max=defaults.table_max_column_width, is_wrapped=defaults.table_cell_layout == "wrap")
        with writing_to_stdout():
            sys.stdout.writelines(f"{line}\n" for line in answer_lines(answer, settings.form, style))
        self._invocation.output.has_result = True

    def _mutate(self, text: str, query: "QuerySyntax") -> None:
        if self._is_read_only:
            raise errors.InvalidTarget(
                f"The mutation `{query.name}` was not run: this shell was started with --read-only."
            )
        if self.settings.snapshot is not None:
            raise errors.InvalidTarget(
                f"The mutation `{query.name}` was not run: the shell reads the snapshot {self.settings.snapshot}, "
                f"which never changes. `{MARK}branch {self.settings.branch}` goes back to the branch."
            )
        import omnigraph

        with follow_progress(self._invocation) as events:
            if self._to_write is None:
                self._to_write = omnigraph.open(self._uri, events=events)
            result = self._to_write.mutate(
                text,
                query.name.text,
                params=self._values(query),
                branch=self.settings.branch,
                actor=self._invocation.actor(),
                query_source=SOURCE,
                events=events,
            )
        self._show(result, document=documents.mutation_document, text=texts.mutation_text)

    def _explain(self, text: str, *, is_run: bool) -> None:
        from omnigraph.query.choosing import choose_query

        if not text:
            raise errors.Usage(f"`{MARK}{'analyze' if is_run else 'explain'}` takes the query behind it.")
        chosen = choose_query(text, verb="query", source=SOURCE)
        explained = self._graph.explain(
            text,
            chosen.name,
            analyze=is_run,
            params=self._values(chosen.syntax),
            snapshot=self.settings.address,
            query_source=SOURCE,
        )
        self._show(explained, document=documents.explanation_document, text=explanation_text)

    def _values(self, query: "QuerySyntax") -> dict[str, object]:
        """Return the values that were set for the parameters of a query; others are not for it."""
        from omnigraph.query.choosing import written_values

        declared = {parameter.variable.name for parameter in query.parameters}
        return written_values(
            query, ((name, value) for name, value in self.settings.values.items() if name in declared)
        )

    def _choose_branch(self, name: str) -> None:
        if not name:
            now = self.settings.branch if self.settings.snapshot is None else None
            names = [branch.name for branch in self._graph.branches.list()]
            self._say("\n".join(f"{'*' if found == now else ' '} {found}" for found in names))
            return
        with self._graph.snapshot(branch=name) as found:
            self.settings.branch, self.settings.snapshot = found.branch, None

    def _choose_snapshot(self, address: str) -> None:
        with self._graph.snapshot(address or self.settings.address) as found:
            if address:
                self.settings.snapshot = address
            origin = f"snapshot {self.settings.snapshot}" if self.settings.snapshot else f"branch {found.branch}"
            self._say(f"{origin}: commit {found.commit_id}, graph version {found.graph_version} of {found.branch}")

    def _show_schema(self, name: str) -> None:
        with self._graph.snapshot(self.settings.address) as snapshot:
            source, catalog = snapshot.schema_source, snapshot.catalog
        if not name:
            self._say(source.rstrip("\n"))
            return
        from omnigraph.catalog.type_names import find_entity
        from omnigraph.language.schema import format_schema, parse_schema
        from omnigraph.language.schema.syntax import SchemaSyntax

        interfaces = {found.name for found in catalog.interfaces}
        wanted = name if name in interfaces else find_entity(catalog, name).table_key
        schema = parse_schema(source, source="schema")
        one = [
            found
            for found in schema.declarations
            if wanted == (found.name.text if name in interfaces else f"{_kind(found)}:{found.name}")
        ]
        self._say(format_schema(SchemaSyntax(declarations=tuple(one), source=schema.source)).rstrip("\n"))

    def _choose_value(self, pair: str) -> None:
        name, equals, value = pair.partition("=")
        name = name.strip().removeprefix("$")
        if not pair:
            self._say("\n".join(f"{known}={text}" for known, text in self.settings.values.items()))
        elif not name:
            raise errors.Usage(f"`{MARK}param` takes NAME=VALUE, or a NAME to forget its value.")
        elif equals:
            self.settings.values[name] = value.strip()
        else:
            self.settings.values.pop(name, None)

    def _choose_form(self, word: str) -> None:
        if not word:
            self._say(self.settings.form)
            return
        self.settings.form = cast("Format", _one_of("format", word, FORMATS))

    def _choose_timing(self, word: str) -> None:
        if not word:
            self._say("on" if self.settings.has_timing else "off")
            return
        self.settings.has_timing = _one_of("timing", word, ("on", "off")) == "on"

    def _say(self, text: str) -> None:
        if text:
            with writing_to_stdout():
                sys.stdout.write(f"{text}\n")

    def _show(self, result: ResultT, *, document: Callable[[ResultT], Json], text: Callable[[ResultT], Text]) -> None:
        output: Output = self._invocation.output
        match self.settings.form:
            case "json":
                write_json(document(result))
            case "jsonl":
                self._say(json.dumps(document(result), ensure_ascii=False, separators=(",", ":")))
            case _:
                output.show(result, document=document, text=text)
        output.has_result = True


def _kind(declaration: object) -> str:
    return type(declaration).__name__.removesuffix("Syntax").lower()


def _one_of(command: str, word: str, known: tuple[str, ...]) -> str:
    if word not in known:
        raise errors.Usage(f"`{MARK}{command}` is one of {', '.join(known)}, not `{shorten(word)}`.")
    return word
