"""Reading `cluster.yaml`: its header for every command, and the whole of it for those that compare or apply."""

import os
from pathlib import Path

from omnigraph.base.home import expand_home
from omnigraph.base.plain_text import DuplicateKey, read_yaml
from omnigraph.base.values import Json
from omnigraph.cluster.config_keys import KeyReader
from omnigraph.cluster.config_sections import read_graphs, read_policies, read_providers
from omnigraph.cluster.declared import CONFIG_NAME, ClusterHeader, DeclaredCluster
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics
from omnigraph.cluster.ledger import declared_root, unusable_root

CONFIG_VERSION = 1
_MAINTENANCE = "maintenance"
"""How a cluster is maintained: no resource and no part of a plan, so that changing it makes no approval stale."""
_KNOWN = {"version", "metadata", "storage", "state", "providers", "graphs", "policies", _MAINTENANCE}
_RESERVED = ("pipelines", "apply", "env_file", "embeddings", "ui", "aliases", "bindings")
_BACKEND = "cluster"


def read_header(directory: str, found: Diagnostics) -> ClusterHeader | None:
    """Read version, storage and state of the config; None after noting why not. Other sections are not looked at."""
    parsed = _parsed(directory, found)
    return None if parsed is None else _header(KeyReader(found), parsed, config_directory(directory))


def read_config(directory: str, found: Diagnostics) -> DeclaredCluster | None:
    """Read the whole config; None if it cannot be made sense of. Whether it is right is what `found` says."""
    parsed = _parsed(directory, found)
    if parsed is None:
        return None
    keys = KeyReader(found)
    place = config_directory(directory)
    for key in _RESERVED:
        if key in parsed:
            keys.wrong(
                key,
                f"`{key}` is reserved for a later version of omnigraph; remove it.",
                DiagnosticCode.FUTURE_PHASE_FIELD,
            )
    sections = keys.keys({key: value for key, value in parsed.items() if key not in _RESERVED}, "", _KNOWN)
    header = _header(keys, parsed, place)
    metadata = keys.keys(sections.get("metadata"), "metadata", {"name"})
    if "name" in metadata:
        keys.text(metadata["name"], "metadata.name", DiagnosticCode.EMPTY_METADATA_NAME)
    named_providers = keys.mapping(
        keys.keys(sections.get("providers"), "providers", {"embedding"}).get("embedding"), "providers.embedding"
    )
    providers = read_providers(keys, named_providers)
    named_graphs = keys.mapping(sections.get("graphs"), "graphs")
    graphs = read_graphs(keys, named_graphs, providers=named_providers)
    policies = read_policies(keys, sections.get("policies"), graphs=named_graphs)
    if _MAINTENANCE in sections:
        _check_maintenance(keys, sections[_MAINTENANCE], list(named_graphs))
    if header is None:
        return None
    plain: dict[str, Json] = {key: value for key, value in parsed.items() if key != _MAINTENANCE}
    return DeclaredCluster(header=header, providers=providers, graphs=graphs, policies=policies, parsed=plain)


def config_directory(directory: str) -> Path:
    """Return the directory of a config as an absolute path."""
    return Path(os.path.abspath(expand_home(directory)))  # noqa: PTH100  # pathlib has no lexical form


def _check_maintenance(keys: KeyReader, section: object, graph_ids: list[str]) -> None:
    """Note what is wrong with how the graphs are to be maintained; `maintain` itself reads the section anew."""
    from omnigraph.cluster.maintenance_settings import parse_maintenance

    for problem in parse_maintenance(section, graph_ids)[1]:
        reason = f"`{problem.path}` {problem.message}"
        keys.wrong(problem.path, reason, DiagnosticCode.INVALID_MAINTENANCE_SETTINGS)


def _parsed(directory: str, found: Diagnostics) -> dict[str, Json] | None:
    place = config_directory(directory)
    if not place.is_dir():
        found.error(DiagnosticCode.CONFIG_DIR_NOT_FOUND, str(place), f"{place} is not a directory.")
        return None
    try:
        parsed = read_yaml((place / CONFIG_NAME).read_bytes(), is_strict=True)
    except OSError as error:
        reason = f"{place / CONFIG_NAME} cannot be read: {error.strerror}."
        found.error(DiagnosticCode.CLUSTER_CONFIG_READ_ERROR, CONFIG_NAME, reason)
        return None
    except DuplicateKey as error:
        found.error(DiagnosticCode.DUPLICATE_YAML_KEY, CONFIG_NAME, f"{CONFIG_NAME} has a {error}.")
        return None
    except ValueError as error:
        reason = f"{CONFIG_NAME} cannot be parsed: {error}."
        found.error(DiagnosticCode.INVALID_CLUSTER_YAML, CONFIG_NAME, reason)
        return None
    if not isinstance(parsed, dict) or not all(isinstance(key, str) for key in parsed):
        reason = f"{CONFIG_NAME} must be a mapping of keys to values."
        found.error(DiagnosticCode.INVALID_CLUSTER_YAML, CONFIG_NAME, reason)
        return None
    return parsed


def _header(keys: KeyReader, parsed: dict[str, Json], directory: Path) -> ClusterHeader | None:
    version = parsed.get("version")
    if isinstance(version, bool) or version != CONFIG_VERSION or not isinstance(version, int):
        keys.wrong(
            "version",
            f"`version` must be {CONFIG_VERSION}; this omnigraph knows no other.",
            DiagnosticCode.UNSUPPORTED_CLUSTER_CONFIG_VERSION,
        )
        return None
    root = _storage(keys, parsed, directory)
    state = keys.keys(parsed.get("state"), "state", {"backend", "lock"})
    if state.get("backend", _BACKEND) != _BACKEND:
        keys.wrong(
            "state.backend",
            f"`state.backend` is {state['backend']!r}; the only one is `{_BACKEND}`.",
            DiagnosticCode.UNSUPPORTED_STATE_BACKEND,
        )
    locks = state.get("lock", True)
    if not isinstance(locks, bool):
        keys.wrong("state.lock", "`state.lock` must be true or false.")
    return None if root is None else ClusterHeader(directory=directory, root=root, locks=locks is not False)


def _storage(keys: KeyReader, parsed: dict[str, Json], directory: Path) -> str | None:
    if "storage" not in parsed:
        return str(directory)
    storage = keys.text(parsed["storage"], "storage", DiagnosticCode.INVALID_STORAGE_ROOT)
    if storage is None:
        return None
    if (problem := unusable_root(storage)) is not None:
        keys.wrong("storage", f"`storage` cannot be used: {problem}.", DiagnosticCode.INVALID_STORAGE_ROOT)
        return None
    return declared_root(directory, storage)
