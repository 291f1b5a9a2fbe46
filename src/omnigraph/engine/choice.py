"""Where bulk work runs: what was asked for, and what that means for work of a given size.

Deciding needs no engine and starts none.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from omnigraph.base.units import spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.errors import Usage

ENGINE_VARIABLE = "OMNIGRAPH_ENGINE"
SPARK_MIN_BYTES_VARIABLE = "OMNIGRAPH_SPARK_MIN_BYTES"
SPARK_MIN_BYTES = 32 << 20
"""From where on a session that is there is worth its jobs."""


class Work(StrEnum):
    """Kinds of bulk work, as far as they differ in how long so many bytes take."""

    LOAD = "load"
    EXPORT = "export"
    EMBED = "embed"
    MERGE = "merge"
    OPTIMIZE = "optimize"
    VERIFY = "verify"
    CLEANUP = "cleanup"


OWN_SESSION_MIN_BYTES = {
    Work.LOAD: 4 << 30,
    Work.EXPORT: 4 << 30,
    Work.EMBED: 1 << 30,
    Work.MERGE: 1 << 30,
    Work.OPTIMIZE: 8 << 30,
    Work.VERIFY: 8 << 30,
    Work.CLEANUP: 1 << 40,
}
"""From where on it pays to start Spark on this machine for one piece of work and stop it again: the start takes at most
a fifth of what the work takes here."""


class EngineName(StrEnum):
    """Which engine was asked for."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkAddress:
    """The session to use and the setting that named it, for messages."""

    url: str
    is_remote: bool
    setting: str
    is_ambient: bool = False
    """Whether it is named for all commands, by the environment or a configuration, and not for this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """The engine asked for and by which setting, the configured Spark session, if any, and its settings."""

    engine: EngineName = EngineName.AUTO
    setting: str = "engine"
    session: SparkAddress | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    has_ui: bool = False
    """Whether a local session keeps its web page."""
    spark_min_bytes: int | None = None
    """From which size on work is Spark's, whether a session is there or has to be started, if somebody said so."""
    shows_log: bool = False
    """Whether a local session may write its log to stderr instead of a file."""

    @classmethod
    def named(cls, engine: "str | EngineChoice | None", environ: Mapping[str, str]) -> "EngineChoice":
        """Read the choice of a Python caller: one that is made already, a name, or the environment without either."""
        if isinstance(engine, EngineChoice):
            return engine
        setting = "engine" if engine else f"${ENGINE_VARIABLE}"
        return cls(
            engine=read_engine_name(engine or environ.get(ENGINE_VARIABLE) or EngineName.AUTO, setting),
            setting=setting,
            session=session_from_environment(environ),
            spark_min_bytes=spark_min_bytes(environ),
        )

    @property
    def session_min_bytes(self) -> int:
        """From which size on work is Spark's where a session is there."""
        return SPARK_MIN_BYTES if self.spark_min_bytes is None else self.spark_min_bytes

    def decide(self, work: Work, size_bytes: int | None, *, has_session: bool = False) -> "EngineDecision":
        """Weigh the choice against the planned work; a size of None is unknown and counts as small.

        `has_session` tells that the calling process has a session of its own.
        """
        if self.engine is not EngineName.AUTO:
            return EngineDecision(engine=self.engine, reason=f"{self.setting} {self.engine}", is_forced=True)
        if self.session is not None and not self.session.is_ambient:
            return EngineDecision(engine=EngineName.SPARK, reason=f"{self.session.setting} is set", is_forced=True)
        if size_bytes is None:
            return EngineDecision(engine=EngineName.LOCAL, reason="input of unknown size")
        size, least = spell_bytes(size_bytes), self.session_min_bytes
        if size_bytes < least:
            return EngineDecision(engine=EngineName.LOCAL, reason=f"{size}, below {spell_bytes(least)}")
        if self.session is None and not has_session and self.spark_min_bytes is None:
            least = max(least, OWN_SESSION_MIN_BYTES[work])
            if size_bytes < least:
                reason = f"{size}, below {spell_bytes(least)}, from where on it pays to start Spark"
                return EngineDecision(engine=EngineName.LOCAL, reason=reason)
        reason = f"{size}, at least {spell_bytes(least)}"
        return EngineDecision(engine=EngineName.SPARK, reason=reason, is_forced=self.session is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDecision:
    """The engine that work will run on, and why; one that was forced is never replaced by another."""

    engine: EngineName
    reason: str
    is_forced: bool = False


def read_engine_name(text: str, setting: str) -> EngineName:
    """Read an engine's name; raise `Usage` naming the setting otherwise."""
    if text not in list(EngineName):
        raise Usage(f"{setting} is `{text}`; it is one of {', '.join(EngineName)}.")
    return EngineName(text)


def session_from_environment(environ: Mapping[str, str]) -> SparkAddress | None:
    """Return the session that the environment names, the strongest variable first."""
    if url := environ.get("OMNIGRAPH_SPARK_REMOTE"):
        return SparkAddress(url=url, is_remote=True, setting="$OMNIGRAPH_SPARK_REMOTE", is_ambient=True)
    if url := environ.get("SPARK_REMOTE"):
        return SparkAddress(url=url, is_remote=True, setting="$SPARK_REMOTE", is_ambient=True)
    if url := environ.get("OMNIGRAPH_SPARK_MASTER"):
        return SparkAddress(url=url, is_remote=False, setting="$OMNIGRAPH_SPARK_MASTER", is_ambient=True)
    return None


def spark_min_bytes(environ: Mapping[str, str]) -> int | None:
    """Return from which size on `auto` means Spark, if the environment says so."""
    text = environ.get(SPARK_MIN_BYTES_VARIABLE)
    if not text:
        return None
    if not text.isdecimal():
        raise Usage(f"${SPARK_MIN_BYTES_VARIABLE} is `{text}`; it is a number of bytes.")
    return int(text)
