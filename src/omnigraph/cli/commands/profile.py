"""`omnigraph profile list` and `omnigraph profile show`."""

from dataclasses import asdict

import click

from omnigraph import errors
from omnigraph.base.values import Json, dataclass
from omnigraph.cli.bindings import PROFILE_VARIABLE, Binding, ScopeKind, ambient_binding, profile_binding, server_url
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.operator_config import OperatorSettings, Profile
from omnigraph.cli.output import Grid, Text, TextColumn
from omnigraph.cli.params import json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSummary:
    """One profile as configured; `error` says why it cannot be used."""

    name: str
    binding: str | None
    scope_kind: str
    target: str | None
    valid: bool
    error: str | None
    default_graph: str | None
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeView:
    """What resolution would use; `target` is as written, `endpoint` what it stands for."""

    name: str
    scope_kind: str | None
    target: str | None
    endpoint: str | None
    default_graph: str | None
    output_format: str


@command("profile list", examples=("omnigraph profile list",))
@json_option
def profile_list(invocation: Invocation) -> None:
    """List the profiles of the operator config; the active one is marked."""
    config = invocation.config
    active = invocation.environ.get(PROFILE_VARIABLE)
    profiles = [_summarise(profile, config, active) for profile in config.profiles.values()]
    invocation.output.show(profiles, document=_list_document, text=_list_text)


@command("profile show", examples=("omnigraph profile show",))
@click.argument("name", required=False, help="A profile; without it the active one, else the defaults.")
@json_option
def profile_show(invocation: Invocation, *, name: str | None) -> None:
    """Show what a command would address with this profile."""
    config = invocation.config
    profile_name = name or invocation.environ.get(PROFILE_VARIABLE)
    binding = ambient_binding(profile_name, config=config, environ=invocation.environ)
    view = ScopeView(
        name=profile_name or "(defaults)",
        scope_kind=binding.kind.value if binding else None,
        target=binding.value if binding else None,
        endpoint=_endpoint(binding, config) if binding else None,
        default_graph=binding.default_graph if binding else None,
        output_format=config.defaults.output,
    )
    invocation.output.show(view, document=asdict, text=_show_text)


def _summarise(profile: Profile, config: OperatorSettings, active: str | None) -> ProfileSummary:
    binding, error = None, None
    try:
        binding = profile_binding(profile, config=config)
        _endpoint(binding, config)
    except (errors.OperatorConfig, errors.Addressing) as problem:
        error = problem.message
    return ProfileSummary(
        name=profile.name,
        binding=", ".join(kind for kind, _ in profile.bindings) or None,
        scope_kind="invalid" if error or binding is None else binding.kind.value,
        target=binding.value if binding else None,
        valid=error is None,
        error=error,
        default_graph=profile.default_graph,
        active=profile.name == active,
    )


def _endpoint(binding: Binding, config: OperatorSettings) -> str:
    match binding.kind:
        case ScopeKind.SERVER:
            return server_url(binding.value, config)
        case ScopeKind.CLUSTER:
            return config.clusters.get(binding.value, binding.value)
        case ScopeKind.STORE:
            return binding.value


def _list_document(profiles: list[ProfileSummary]) -> Json:
    return [asdict(profile) for profile in profiles]


def _list_text(profiles: list[ProfileSummary]) -> Text:
    if not profiles:
        return ["(no profiles defined)"]
    rows = tuple(
        (
            "*" if profile.active else "",
            profile.name,
            profile.scope_kind,
            profile.error or profile.target or "",
            profile.default_graph or "",
        )
        for profile in profiles
    )
    titles = ("active", "profile", "scope", "target", "default graph")
    return [
        Grid(
            columns=tuple(TextColumn(title=title) for title in titles),
            rows=rows,
        )
    ]


def _show_text(view: ScopeView) -> Text:
    return [f"{name}: {value}" for name, value in asdict(view).items() if value is not None]
