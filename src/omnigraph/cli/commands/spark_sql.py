"""`omnigraph spark-sql`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.base.events import phase
from omnigraph.base.values import Json
from omnigraph.cli import sql_view
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import JsonOutput, writing_to_stdout
from omnigraph.cli.params import branch_option, json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import resolve_storage
from omnigraph.engine.choice import EngineName

if TYPE_CHECKING:
    from omnigraph.connectors.spark.shell import SqlAnswer, SqlShell

_ROWS_SHOWN = 1_000
_PROMPT, _GOES_ON = "spark-sql> ", "         > "


@command(
    "spark-sql",
    examples=(
        'omnigraph spark-sql art.omni -e "select count(*) from Artist"',
        'omnigraph spark-sql art.omni --format csv -e "select name from Artist order by name"',
    ),
)
@branch_option
@click.option("--snapshot", metavar="ADDRESS", help="An older state: a commit id, branch@N, branch@TIME or branch~N.")
@click.option("-e", "--execute", "texts", metavar="SQL", multiple=True, help="Statements to run; repeatable.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "json", "csv")),
    default="table",
    help="Default table; json is --json.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N rows; a table shows 1000 without it.")
@json_option
def spark_sql(
    invocation: Invocation,
    *,
    branch: str,
    snapshot: str | None,
    texts: tuple[str, ...],
    form: str,
    limit: int | None,
) -> None:
    """Ask questions in Spark SQL over one snapshot, whose types are tables of the same names.

    Without -e, statements are read from standard input, each up to its semicolon. Edges have `src` and `dst`, the ids
    of the nodes that they connect. The session is found as for every other command that runs on Spark, or started.
    """
    choice = resolve_engine(invocation)
    if choice.engine is EngineName.LOCAL:
        raise errors.Usage(f"spark-sql runs on Spark, so {choice.setting} local does not go with it.", flag="--engine")
    target = resolve_storage(invocation)
    form = "json" if invocation.wants_json else form
    with follow_progress(invocation) as events:
        from omnigraph.engine.opening import require_pyspark

        require_pyspark("spark-sql")
        import omnigraph
        from omnigraph.connectors.spark.shell import SqlShell, all_statements
        from omnigraph.engine.spark.session import open_session

        asked = [statement for text in texts for statement in all_statements(text)]
        if texts and not asked:
            raise errors.Usage("-e holds no statement; write SQL such as `select count(*) from Person`.", flag="-e")
        graph = omnigraph.open(target.uri, read_only=True)
        address = snapshot if snapshot is not None else branch
        graph.snapshot(address)  # whether it is there is known before anything is started
        with phase(events, "starting Spark"):
            opened = open_session(choice, invocation.environ)
            with opened.in_use():
                views = graph.register_views(opened.session, prefix="", snapshot=address)
            shell = SqlShell(opened, views)
    rows_max = limit if limit is not None or form != "table" else _ROWS_SHOWN
    conversation = Conversation(invocation, shell, form=form, rows_max=rows_max)
    if asked:
        conversation.answer_all(asked)
    elif sys.stdin.isatty():
        conversation.talk()
    else:
        conversation.answer_all(_statements_of(sys.stdin))


class Conversation:
    """Answers statements in one form: each when it is there, or all in one document."""

    def __init__(self, invocation: Invocation, shell: "SqlShell", *, form: str, rows_max: int | None) -> None:
        self._output = JsonOutput() if form == "json" else invocation.output
        self._notices = invocation.notices
        self._shell = shell
        self._form = form
        self._rows_max = rows_max

    def answer_all(self, statements: Iterable[str]) -> None:
        """Answer statements one after the other; the first that fails ends it."""
        answers = []
        for statement in statements:
            answer = self._shell.run(statement, rows_max=self._rows_max)
            if self._form == "json":
                answers.append(answer)
            else:
                self._show(answer)
        if self._form == "json":
            self._output.show(answers, document=_document, text=lambda _: ())

    def talk(self) -> None:
        """Answer somebody at a terminal until they leave; a statement that fails does not end it."""
        from omnigraph.engine.spark.interrupts import plain_interrupts

        names = ", ".join(self._shell.views.names)
        self._notices.echo(f"Spark SQL over {names}; end a statement with ; and leave with Ctrl-D.")
        begun = ""
        with plain_interrupts():
            while True:
                try:
                    begun = self._answer_begun(begun + self._ask(_GOES_ON if begun.strip() else _PROMPT))
                except EOFError:
                    return
                except KeyboardInterrupt as interrupt:
                    # At the prompt it takes back what was typed; in a statement it cancels that.
                    begun = ""
                    self._notices.echo(": ".join(("interrupted", *map(str, interrupt.args))))

    def _ask(self, prompt: str) -> str:
        """Ask for a line; what is typed can be edited where the answers are on the same terminal."""
        if sys.stdout.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  # `input` edits lines with it
            return f"{input(prompt)}\n"
        if not self._notices.is_quiet:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    def _answer_begun(self, begun: str) -> str:
        """Answer what is complete and return the rest."""
        from omnigraph.connectors.spark.shell import statements_in

        whole, rest = statements_in(begun)
        for statement in whole:
            try:
                self._show(self._shell.run(statement, rows_max=self._rows_max))
            except errors.OmniError as failure:
                self._notices.error(failure.message)
        return rest

    def _show(self, answer: "SqlAnswer") -> None:
        if self._form == "csv":
            spelled = sql_view.answer_csv(answer)
            with writing_to_stdout():
                sys.stdout.write(spelled)
        else:
            self._output.show(answer, document=lambda given: _document([given]), text=sql_view.answer_text)


def _document(answers: "Sequence[SqlAnswer]") -> Json:
    return documents.answers_document(answer.rows for answer in answers)


def _statements_of(lines: Iterable[str]) -> Iterator[str]:
    """Yield the statements of a text as soon as each is complete."""
    from omnigraph.connectors.spark.shell import all_statements, statements_in

    rest = ""
    for line in lines:
        whole, rest = statements_in(rest + line)
        yield from whole
    yield from all_statements(rest)
