"""Where bulk work runs: the choice that flags, environment and operator config make together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from omnigraph import errors
from omnigraph.cli.flags import GlobalFlags
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.machine import installed_version
from omnigraph.cli.operator_config import ENGINES, OperatorConfig

ENGINE_VARIABLE = "OMNIGRAPH_ENGINE"


class Engine(StrEnum):
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

    engine: Engine
    setting: str
    session: SparkAddress | None
    conf: Mapping[str, str]


def resolve_engine(invocation: Invocation) -> EngineChoice:
    """Weigh flags against environment against operator config, and refuse combinations that contradict themselves."""
    flags, environ, config = invocation.flags, invocation.environ, invocation.config
    engine, setting = _engine(flags, environ, config)
    if engine is Engine.LOCAL and (given := flags.spark_flags()):
        raise errors.Usage(f"{given[0]} does not go with {setting} local; drop one of them.", flag=given[0])
    if flags.spark_master and flags.spark_remote:
        raise errors.Usage("--spark-master and --spark-remote name two sessions; give one.", flag="--spark-remote")
    return EngineChoice(
        engine=engine,
        setting=setting,
        session=_session(flags, environ, config),
        conf={**config.spark.conf, **dict(_parse_conf(flags.spark_conf))},
    )


def require_local_engine(choice: EngineChoice) -> None:
    """Refuse a choice that means Spark: this version does all its bulk work in process.

    A session that somebody configured is never replaced silently, not even under `auto`.
    """
    if choice.engine is Engine.LOCAL or (choice.engine is Engine.AUTO and choice.session is None):
        return
    setting = f"{choice.setting} spark" if choice.session is None else choice.session.setting
    if installed_version("pyspark") is None:
        missing, remedy = "PySpark, which is not installed", "Install omnigraph[spark], or use --engine local."
    else:
        missing, remedy = "the Spark engine, which this version does not have", "Use --engine local."
    raise errors.EngineUnavailable(f"{setting} needs {missing}. {remedy}", engine=Engine.SPARK.value, missing=missing)


def _engine(flags: GlobalFlags, environ: Mapping[str, str], config: OperatorConfig) -> tuple[Engine, str]:
    if flags.engine:
        return Engine(flags.engine), "--engine"
    if from_environment := environ.get(ENGINE_VARIABLE):
        if from_environment not in ENGINES:
            raise errors.Usage(f"${ENGINE_VARIABLE} is `{from_environment}`; it is one of {', '.join(ENGINES)}.")
        return Engine(from_environment), f"${ENGINE_VARIABLE}"
    return Engine(config.defaults.engine or Engine.AUTO), "defaults.engine"


def _session(flags: GlobalFlags, environ: Mapping[str, str], config: OperatorConfig) -> SparkAddress | None:
    candidates = (
        ("--spark-remote", flags.spark_remote, True),
        ("--spark-master", flags.spark_master, False),
        ("$OMNIGRAPH_SPARK_REMOTE", environ.get("OMNIGRAPH_SPARK_REMOTE"), True),
        ("$SPARK_REMOTE", environ.get("SPARK_REMOTE"), True),
        ("$OMNIGRAPH_SPARK_MASTER", environ.get("OMNIGRAPH_SPARK_MASTER"), False),
        ("spark.remote", config.spark.remote, True),
        ("spark.master", config.spark.master, False),
    )
    for setting, url, is_remote in candidates:
        if url:
            return SparkAddress(url=url, is_remote=is_remote, setting=setting)
    return None


def _parse_conf(pairs: Iterable[str]) -> Iterable[tuple[str, str]]:
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise errors.Usage(f"--spark-conf takes KEY=VALUE, not `{pair}`.", flag="--spark-conf")
        yield key.strip(), value
