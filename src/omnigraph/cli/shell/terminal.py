"""Somebody at a terminal: editing over several lines, history, completion. The only module with prompt_toolkit."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import create_output

from omnigraph import errors
from omnigraph.cli.failures import report_failure
from omnigraph.cli.output import StdoutFailed
from omnigraph.cli.shell.help_text import VALUES_BY_COMMAND
from omnigraph.cli.shell.offers import offers
from omnigraph.cli.shell.statements import all_statements, is_ended
from omnigraph.query.offers import Vocabulary

if TYPE_CHECKING:
    from omnigraph.cli.invocation import Invocation
    from omnigraph.cli.shell.session import Session


def talk(invocation: "Invocation", session: "Session", *, name: str, history: Path) -> None:
    """Answer what is typed until somebody leaves; what fails is shown and does not end it."""
    completer = _SchemaCompleter(session)
    prompts: PromptSession[str] = PromptSession(
        multiline=True,
        completer=completer,
        complete_while_typing=False,
        history=_history(history),
        key_bindings=_keys(),
        prompt_continuation=lambda width, *_: "> ".rjust(width),
        # Answers may go to a file while somebody types.
        output=None if sys.stdout.isatty() else create_output(always_prefer_tty=True),
    )
    while True:
        completer.forget()
        try:
            typed = prompts.prompt(f"{name} {session.settings.address}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if not _answered(invocation, session, typed):
            return


def _answered(invocation: "Invocation", session: "Session", typed: str) -> bool:
    """Run what was typed, up to its first failure; return whether the shell goes on."""
    notices = invocation.notices
    try:
        return all(session.answer(statement) for statement in all_statements(typed.split("\n")))
    except (StdoutFailed, BrokenPipeError):
        raise
    except KeyboardInterrupt as interrupt:
        in_force = f". In force: {notices.in_force}." if notices.in_force else ""
        notices.error(": ".join(("interrupted", *map(str, interrupt.args))) + in_force)
    except Exception as failure:  # noqa: BLE001  # a defect in one statement is no reason to lose the others
        report_failure(failure, invocation)
    return True


def _history(path: Path) -> History:
    """Keep what was typed where only its author reads it; without a place for it, for this run alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # what was chosen stays; the next Enter is about the query
        elif is_ended(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    return keys


class _SchemaCompleter(Completer):
    """Offers the names of the graph, read on the first Tab of each prompt."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._vocabulary: Vocabulary | None = None

    def forget(self) -> None:
        """Look again at the next Tab: the branch may be another one, and so may its schema."""
        self._vocabulary = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        del complete_event
        if self._vocabulary is None:
            try:
                self._vocabulary = self._session.vocabulary()
            except errors.OmniError:
                self._vocabulary = Vocabulary()
        for offer in offers(document.text_before_cursor, self._vocabulary, VALUES_BY_COMMAND):
            yield Completion(offer.text, start_position=-offer.typed, display_meta=offer.what)
