"""`omnigraph doctor`."""

import os
import platform
import stat
from collections.abc import Mapping
from enum import StrEnum

from omnigraph import errors
from omnigraph.base.units import spell_bytes
from omnigraph.base.values import Json, dataclass
from omnigraph.cli import machine
from omnigraph.cli.command import command
from omnigraph.cli.credentials import credentials_path, is_exposed
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.operator_config import read_operator_config
from omnigraph.cli.output import Text
from omnigraph.cli.params import json_option
from omnigraph.engine.choice import OWN_SESSION_MIN_BYTES, SPARK_MIN_BYTES, Work, spark_min_bytes
from omnigraph.engine.spark import java

SCRATCH_BYTES_WANTED = 1 << 30
INSTALL_SPARK = "pip install 'omnigraph[spark]'"


class MachineStatus(StrEnum):
    """How good a finding is; only an error makes the command fail."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One look at the machine; `fix` is a command to run or a setting to use."""

    name: str
    found: str
    status: MachineStatus = MachineStatus.OK
    fix: str | None = None


@command("doctor", examples=("omnigraph doctor",))
@json_option
def doctor(invocation: Invocation) -> None:
    """Look at this machine: what is installed, what is missing and how to get it.

    It never looks at a graph. Spark and Java are optional: without them everything runs in process.
    """
    checks = run_checks(invocation.environ)
    invocation.output.show(checks, document=_document, text=_text)
    failed = [check.name for check in checks if check.status is MachineStatus.ERROR]
    if failed:
        raise errors.DoctorFailed(f"This machine cannot run omnigraph as it is: {', '.join(failed)}.", checks=failed)


def run_checks(environ: Mapping[str, str]) -> list[Examination]:
    """Look at everything once, in the order in which people read it."""
    return [
        Examination(name="python", found=platform.python_version()),
        _required_library("lance", "pylance"),
        _required_library("duckdb", "duckdb"),
        _pyspark(),
        _java(environ),
        Examination(name="cores", found=str(os.cpu_count())),
        Examination(name="memory", found=spell_bytes(machine.memory_bytes())),
        _scratch_space(),
        _operator_config(environ),
        _credentials(environ),
        _engine(environ),
    ]


def _required_library(name: str, distribution: str) -> Examination:
    found = machine.installed_version(distribution)
    if found is None:
        return Examination(name=name, found="missing", status=MachineStatus.ERROR, fix=f"pip install {distribution}")
    return Examination(name=name, found=found)


def _pyspark() -> Examination:
    found = machine.installed_version("pyspark")
    if found is None:
        return Examination(name="pyspark", found="missing", status=MachineStatus.WARNING, fix=INSTALL_SPARK)
    return Examination(name="pyspark", found=found)


def _java(environ: Mapping[str, str]) -> Examination:
    found = java.java_version(environ)
    fix = f"install Java {java.JAVA_NEEDED} or newer and point JAVA_HOME at it"
    if found is None:
        return Examination(name="java", found="missing", status=MachineStatus.WARNING, fix=fix)
    if java.java_feature_version(found) < java.JAVA_NEEDED:
        return Examination(name="java", found=found, status=MachineStatus.WARNING, fix=fix)
    return Examination(name="java", found=found)


def _engine(environ: Mapping[str, str]) -> Examination:
    """Say what `auto` takes for a large input on this machine."""
    has_spark = machine.installed_version("pyspark") is not None and java.missing_java(environ) is None
    if not has_spark:
        return Examination(name="engine", found="local for every input: Spark is not available")
    least = spark_min_bytes(environ)
    if least is not None:
        return Examination(name="engine", found=f"spark from {spell_bytes(least)} of input on, local below")
    there, own = spell_bytes(SPARK_MIN_BYTES), spell_bytes(OWN_SESSION_MIN_BYTES[Work.LOAD])
    found = f"spark from {there} of input on where a session is configured, from {own} on otherwise; local below"
    return Examination(name="engine", found=found)


def _scratch_space() -> Examination:
    directory = machine.scratch_directory()
    free = machine.free_bytes(directory)
    found = f"{spell_bytes(free)} free in {directory}"
    if free < SCRATCH_BYTES_WANTED:
        fix = f"free some space, or set TMPDIR to a disk with at least {spell_bytes(SCRATCH_BYTES_WANTED)}"
        return Examination(name="scratch", found=found, status=MachineStatus.WARNING, fix=fix)
    return Examination(name="scratch", found=found)


def _operator_config(environ: Mapping[str, str]) -> Examination:
    try:
        config = read_operator_config(environ)
    except errors.OperatorConfig as error:
        return Examination(
            name="config", found=error.message, status=MachineStatus.ERROR, fix=f"edit {error.details['path']}"
        )
    if config.warnings:
        found = "; ".join(config.warnings)
        return Examination(name="config", found=found, status=MachineStatus.WARNING, fix=f"edit {config.path}")
    return Examination(name="config", found=str(config.path) if config.path.exists() else f"none at {config.path}")


def _credentials(environ: Mapping[str, str]) -> Examination:
    path = credentials_path(environ)
    if not path.exists():
        return Examination(name="credentials", found=f"none at {path}")
    mode = stat.S_IMODE(path.stat().st_mode)
    found = f"{path}, mode {mode:04o}"
    if is_exposed(mode):
        return Examination(name="credentials", found=found, status=MachineStatus.ERROR, fix=f"chmod 600 {path}")
    return Examination(name="credentials", found=found)


def _document(checks: list[Examination]) -> Json:
    return {
        "ok": all(check.status is not MachineStatus.ERROR for check in checks),
        "checks": [
            {"name": check.name, "status": check.status.value, "found": check.found}
            | ({"fix": check.fix} if check.fix else {})
            for check in checks
        ],
    }


def _text(checks: list[Examination]) -> Text:
    return [
        f"{check.status:<8} {check.name:<12} {check.found}{f' (fix: {check.fix})' if check.fix else ''}"
        for check in checks
    ]
