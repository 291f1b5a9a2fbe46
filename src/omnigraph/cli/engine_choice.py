"""Where bulk work runs: the choice that flags, environment and operator config make together."""

from collections.abc import Iterable, Mapping

from omnigraph import errors
from omnigraph.cli.flags import GlobalFlags
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.operator_config import OperatorSettings
from omnigraph.engine.choice import (
    ENGINE_VARIABLE,
    EngineChoice,
    EngineName,
    SparkAddress,
    read_engine_name,
    session_from_environment,
    spark_min_bytes,
)


def resolve_engine(invocation: Invocation) -> EngineChoice:
    """Weigh flags against environment against operator config, and refuse combinations that contradict themselves."""
    flags, environ, config = invocation.flags, invocation.environ, invocation.config
    engine, setting = _engine(flags, environ, config)
    if engine is EngineName.LOCAL and (given := flags.spark_flags()):
        raise errors.Usage(f"{given[0]} does not go with {setting} local; drop one of them.", flag=given[0])
    if flags.spark_master and flags.spark_remote:
        raise errors.Usage("--spark-master and --spark-remote name two sessions; give one.", flag="--spark-remote")
    return EngineChoice(
        engine=engine,
        setting=setting,
        session=_session(flags, environ, config),
        conf={**config.spark.conf, **dict(_parse_conf(flags.spark_conf))},
        has_ui=flags.spark_ui,
        spark_min_bytes=spark_min_bytes(environ),
        shows_log=invocation.is_debug,
    )


def _engine(flags: GlobalFlags, environ: Mapping[str, str], config: OperatorSettings) -> tuple[EngineName, str]:
    if flags.engine:
        return EngineName(flags.engine), "--engine"
    if from_environment := environ.get(ENGINE_VARIABLE):
        return read_engine_name(from_environment, f"${ENGINE_VARIABLE}"), f"${ENGINE_VARIABLE}"
    return EngineName(config.defaults.engine or EngineName.AUTO), "defaults.engine"


def _session(flags: GlobalFlags, environ: Mapping[str, str], config: OperatorSettings) -> SparkAddress | None:
    named = (("--spark-remote", flags.spark_remote, True), ("--spark-master", flags.spark_master, False))
    configured = (("spark.remote", config.spark.remote, True), ("spark.master", config.spark.master, False))
    return _first(named) or session_from_environment(environ) or _first(configured, is_ambient=True)


def _first(candidates: Iterable[tuple[str, str | None, bool]], *, is_ambient: bool = False) -> SparkAddress | None:
    for setting, url, is_remote in candidates:
        if url:
            return SparkAddress(url=url, is_remote=is_remote, setting=setting, is_ambient=is_ambient)
    return None


def _parse_conf(pairs: Iterable[str]) -> Iterable[tuple[str, str]]:
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise errors.Usage(f"--spark-conf takes KEY=VALUE, not `{pair}`.", flag="--spark-conf")
        yield key.strip(), value
