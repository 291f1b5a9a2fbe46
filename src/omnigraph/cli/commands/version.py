"""`omnigraph version`."""

from dataclasses import asdict

from omnigraph.base.values import dataclass
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.machine import installed_version
from omnigraph.cli.params import json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The program, the storage format it writes, and the libraries that matter; `pyspark` is optional."""

    version: str
    internal_schema_version: int
    pylance: str | None
    pyspark: str | None


@command("version", examples=("omnigraph version",))
@json_option
def version(invocation: Invocation) -> None:
    """Print the versions of the program and of its storage format."""
    import omnigraph

    versions = Versions(
        version=omnigraph.__version__,
        internal_schema_version=omnigraph.INTERNAL_SCHEMA_VERSION,
        pylance=installed_version("pylance"),
        pyspark=installed_version("pyspark"),
    )
    invocation.output.show(
        versions,
        document=asdict,
        text=lambda found: [f"omnigraph {found.version}", f"internal-schema {found.internal_schema_version}"],
    )
