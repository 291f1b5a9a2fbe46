"""What was typed: the command of one run, and its global flags."""

from typing import Any

from omnigraph import errors
from omnigraph.base.values import dataclass
from omnigraph.verbs.table import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCommand:
    """The command of this run, and how it was typed: `schema get` and `schema show` share a row."""

    verb: Verb
    typed: str

    def addressing_error(self, message: str, *, flag: str | None = None) -> errors.Addressing:
        """Build the error for an address that this command cannot use."""
        details: dict[str, Any] = {"command": self.typed, "class": self.verb.command_class.value}
        if flag is not None:
            details["flag"] = flag
        return errors.Addressing(message, **details)


@dataclass(slots=True)
class GlobalFlags:
    """Filled while the line is parsed, wherever the flags stood; None means not given.

    `address` is the bare positional storage URI, which only some commands take. `--quiet`, `--verbose` and `--debug`
    are not here: how to talk must be known before parsing can fail (`Invocation`).
    """

    address: str | None = None
    uri: str | None = None
    store: str | None = None
    server: str | None = None
    cluster: str | None = None
    graph: str | None = None
    graphs: tuple[str, ...] = ()
    """Every `--graph` of the line, for the command that takes several."""
    profile: str | None = None
    target: str | None = None
    cluster_graph: str | None = None
    actor: str | None = None
    yes: bool = False
    progress: bool | None = None
    engine: str | None = None
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_conf: tuple[str, ...] = ()
    spark_ui: bool = False

    def spark_flags(self) -> list[str]:
        """List the `--spark-…` flags that were given."""
        given = {
            "--spark-master": self.spark_master,
            "--spark-remote": self.spark_remote,
            "--spark-conf": self.spark_conf,
            "--spark-ui": self.spark_ui,
        }
        return [flag for flag, value in given.items() if value]

    def engine_flags(self) -> list[str]:
        """List the flags given that say where bulk work runs."""
        return ["--engine", *self.spark_flags()] if self.engine else self.spark_flags()
