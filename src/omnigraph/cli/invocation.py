"""One run of the program: how it talks, what was typed, and what is read at most once."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from omnigraph import errors
from omnigraph.cli.flags import GlobalFlags, RunningCommand
from omnigraph.cli.notices import Notices
from omnigraph.cli.operator_config import OperatorSettings, read_operator_config
from omnigraph.cli.output import ConsoleOutput, JsonOutput, Output


class Invocation:
    """Handed to every command.

    How to talk (`--json`, `--quiet`, `--verbose`, `--debug`) is read from the raw line, because a line that does not
    parse must fail in the form its author asked for.
    """

    def __init__(self, *, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        words = list(argv)
        typed = set(words[: words.index("--")] if "--" in words else words)
        self.wants_json = "--json" in typed
        self.is_debug = "--debug" in typed
        self._first_word = next((word for word in words if not word.startswith("-")), None)
        self.environ = environ
        self.flags = GlobalFlags()
        self.notices = Notices(is_quiet="--quiet" in typed, is_verbose="--verbose" in typed)
        self.output: Output = JsonOutput() if self.wants_json else ConsoleOutput(has_color=not environ.get("NO_COLOR"))
        self.command: RunningCommand  # set by the parser as soon as it knows

    @property
    def is_verdict(self) -> bool:
        """Whether the low exit codes of this run speak of the graph, as those of `health` and `verify` do.

        Guessed from the line when it failed before the parser got to the command.
        """
        known: RunningCommand | None = getattr(self, "command", None)
        return (known.verb.words if known is not None else self._first_word) in {"health", "verify"}

    @cached_property
    def config(self) -> OperatorSettings:
        """The operator config, read on first use; its warnings are printed then."""
        config = read_operator_config(self.environ)
        for warning in config.warnings:
            self.notices.warn(warning)
        return config

    def actor(self) -> str | None:
        """Return who writes: `--as`, else the configured operator, else nobody."""
        actor = self.flags.actor or self.config.actor
        if actor is not None and actor.startswith("omnigraph:"):
            raise errors.InvalidName(
                f"Actor `{actor}` cannot be used: ids that start with `omnigraph:` belong to the system.", name=actor
            )
        return actor
