"""What the line, the environment or the operator config point at, before any name in it is looked up."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from omnigraph import errors
from omnigraph.base.values import dataclass
from omnigraph.cli.guard import does_not_apply
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.operator_config import OperatorSettings, Profile
from omnigraph.verbs.table import AddressFlag

PROFILE_VARIABLE = "OMNIGRAPH_PROFILE"
STORE_VARIABLE = "OMNIGRAPH_STORE"


class ScopeKind(StrEnum):
    """What a binding points at."""

    SERVER = "server"
    CLUSTER = "cluster"
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """An address and who gave it; `default_graph` travels only with the scope it was written for."""

    kind: ScopeKind
    value: str
    source: str
    default_graph: str | None = None


_EXPLICIT_ADDRESSES = (
    ("a positional URI", "address", ScopeKind.STORE),
    ("--uri", "uri", ScopeKind.STORE),
    ("--store", "store", ScopeKind.STORE),
    ("--server", "server", ScopeKind.SERVER),
    ("--cluster", "cluster", ScopeKind.CLUSTER),
)

_FLAG_BY_KIND = {
    ScopeKind.SERVER: AddressFlag.SERVER,
    ScopeKind.CLUSTER: AddressFlag.CLUSTER,
    ScopeKind.STORE: AddressFlag.STORE,
}


def find_binding(invocation: Invocation) -> Binding | None:
    """Return what this run addresses: an explicit address, else what is ambient, else None."""
    explicit = explicit_binding(invocation)
    if explicit is None:
        return ambient_binding(invocation.flags.profile, config=invocation.config, environ=invocation.environ)
    if profile := invocation.flags.profile:
        invocation.notices.warn(f"--profile '{profile}' ignored because {explicit.source} was given")
    return explicit


def explicit_binding(invocation: Invocation) -> Binding | None:
    """Return the address that stands on the line; two of them exclude each other."""
    target = invocation.flags.target
    given = [
        Binding(kind=kind, value=value, source=spelling)
        for spelling, field, kind in _EXPLICIT_ADDRESSES
        if (value := getattr(invocation.flags, field)) is not None
    ]
    sources = [binding.source for binding in given] + (["--target"] if target else [])
    if len(sources) > 1:
        bare = f" (the positional one is `{invocation.flags.address}`)" if invocation.flags.address else ""
        raise invocation.command.addressing_error(
            f"`{invocation.command.typed}` got {' and '.join(sources)}, which are mutually exclusive: "
            f"give one address{bare}."
        )
    if target:
        return _target_binding(target, invocation)
    return given[0] if given else None


def ambient_binding(
    profile_name: str | None, *, config: OperatorSettings, environ: Mapping[str, str]
) -> Binding | None:
    """Return what holds when no address stands on the line: profile, then environment, then defaults."""
    if name := profile_name or environ.get(PROFILE_VARIABLE):
        return profile_binding(defined_profile(name, config), config=config)
    if store := environ.get(STORE_VARIABLE):
        return Binding(kind=ScopeKind.STORE, value=store, source=f"${STORE_VARIABLE}")
    defaults = config.defaults
    if defaults.server:
        return Binding(
            kind=ScopeKind.SERVER,
            value=defaults.server,
            source="operator defaults",
            default_graph=defaults.default_graph,
        )
    if defaults.store:
        return Binding(kind=ScopeKind.STORE, value=defaults.store, source="operator defaults")
    return None


def defined_profile(name: str, config: OperatorSettings) -> Profile:
    """Look a profile up by name."""
    if name not in config.profiles:
        raise errors.Addressing(
            f"profile '{name}' is not defined under `profiles:` in '{config.path}'. {_defined(config.profiles)}.",
            flag="--profile",
        )
    return config.profiles[name]


def profile_binding(profile: Profile, *, config: OperatorSettings) -> Binding:
    """Return the one binding of a profile; with none or several the profile cannot be used."""
    if len(profile.bindings) != 1:
        found = ", ".join(kind for kind, _ in profile.bindings) or "none"
        raise errors.OperatorConfig(
            f"profile '{profile.name}' in operator config '{config.path}' must bind exactly one of server, cluster, "
            f"store; it binds {found}.",
            path=str(config.path),
        )
    [(kind, value)] = profile.bindings
    return Binding(
        kind=ScopeKind(kind),
        value=value,
        source=f"profile '{profile.name}'",
        default_graph=profile.default_graph,
    )


def server_url(value: str, config: OperatorSettings) -> str:
    """Return the base URL of a server given by name or literally."""
    if "://" not in value and value not in config.servers:
        raise errors.Addressing(
            f"server '{value}' is not defined under `servers:` in '{config.path}'. {_defined(config.servers)}.",
            flag="--server",
        )
    return config.servers.get(value, value).rstrip("/")


def _target_binding(target: str, invocation: Invocation) -> Binding:
    """Give the deprecated `--target` its meaning: the first of profile, server, cluster and storage that fits."""
    config = invocation.config
    if target in config.profiles:
        invocation.notices.warn(f"--target is deprecated; treated as --profile {target}")
        return profile_binding(config.profiles[target], config=config)
    kind = _target_kind(target, config)
    flag = _FLAG_BY_KIND[kind]
    invocation.notices.warn(f"--target is deprecated; treated as --{kind} {target}")
    if kind is ScopeKind.SERVER and flag not in invocation.command.verb.accepts:
        # A storage command names the server it will not go through, exactly as if its URL had been given.
        return Binding(kind=ScopeKind.STORE, value=server_url(target, config), source="--target")
    if flag not in invocation.command.verb.accepts:
        raise does_not_apply(invocation.command, flag, f"--{kind}")
    return Binding(kind=kind, value=target, source="--target")


def _target_kind(target: str, config: OperatorSettings) -> ScopeKind:
    if target in config.servers:
        return ScopeKind.SERVER
    if target in config.clusters:
        return ScopeKind.CLUSTER
    if "://" in target or Path(target).exists():
        return ScopeKind.STORE
    known = [*config.profiles, *config.servers, *config.clusters]
    raise errors.Addressing(
        f"--target '{target}' names no profile, server, cluster or storage. {_defined(known)}.", flag="--target"
    )


def _defined(names: Mapping[str, object] | list[str]) -> str:
    return f"Defined: {', '.join(sorted(names))}" if names else "None is defined"
