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


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """The engine asked for and by which setting, the configured Spark session, if any, and its settings."""

    engine: EngineName = EngineName.AUTO
    setting: str = "engine"
    session: SparkAddress | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    has_ui: bool = False
    """Whether a local session keeps its web page."""
    spark_min_bytes: int = SPARK_MIN_BYTES
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

    def decide(self, size_bytes: int | None) -> "Decision":
        """Weigh the choice against the planned work; a size of None is unknown and counts as small."""
        if self.engine is not EngineName.AUTO:
            return Decision(engine=self.engine, reason=f"{self.setting} {self.engine}", is_forced=True)
        if self.session is not None:
            return Decision(engine=EngineName.SPARK, reason=f"{self.session.setting} is set", is_forced=True)
        if size_bytes is None:
            return Decision(engine=EngineName.LOCAL, reason="input of unknown size")
        limit = spell_bytes(self.spark_min_bytes)
        if size_bytes < self.spark_min_bytes:
            return Decision(engine=EngineName.LOCAL, reason=f"{spell_bytes(size_bytes)}, below {limit}")
        return Decision(engine=EngineName.SPARK, reason=f"{spell_bytes(size_bytes)}, at least {limit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
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
        return SparkAddress(url=url, is_remote=True, setting="$OMNIGRAPH_SPARK_REMOTE")
    if url := environ.get("SPARK_REMOTE"):
        return SparkAddress(url=url, is_remote=True, setting="$SPARK_REMOTE")
    if url := environ.get("OMNIGRAPH_SPARK_MASTER"):
        return SparkAddress(url=url, is_remote=False, setting="$OMNIGRAPH_SPARK_MASTER")
    return None


def spark_min_bytes(environ: Mapping[str, str]) -> int:
    """Return from which size on `auto` means Spark."""
    text = environ.get(SPARK_MIN_BYTES_VARIABLE)
    if not text:
        return SPARK_MIN_BYTES
    if not text.isdecimal():
        raise Usage(f"${SPARK_MIN_BYTES_VARIABLE} is `{text}`; it is a number of bytes.")
    return int(text)
