"""The `maintenance:` section of `cluster.yaml`: read strictly, with the key path of everything that is wrong.

Keys at the top are for every graph; those under `graphs.<id>` stand in their place for one of them, key by key. What is
misspelt is never taken for nothing: a cleanup that keeps less than somebody wrote cannot be undone.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from datetime import timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from omnigraph.base.nearest import nearest
from omnigraph.base.plain_text import printable
from omnigraph.base.units import parse_bytes, parse_duration
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineName
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.maintain.quiet_hours import QuietHours, read_spans
from omnigraph.maintenance.maintain.settings import CleanupSettings, GraphSettings, OptimizeSettings

SECTION = "maintenance"

_OPTIMIZE_KEYS = ("fragments", "deleted_ratio", "coverage", "internal_fragments", "branches")
_CLEANUP_KEYS = ("keep", "older_than", "reclaimable", "share")
_GRAPH_KEYS = ("enabled", "optimize", "cleanup", "quiet_hours", "timezone", "max_time", "max_bytes", "engine")
_BRANCHES = {"main": False, "all": True}
_NUMBER_MAX = 2**53
ValueT = TypeVar("ValueT")
_Mapping = Mapping[object, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsProblem:
    """One thing that is wrong with the section, and where."""

    path: str
    """Of the key, such as `maintenance.graphs.artworks.cleanup.keep`."""
    message: str
    """Goes on from the path: `must be a size, not 'lots'.`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceSettings:
    """What the section says: for every graph, and for those that have something of their own."""

    default: GraphSettings = GraphSettings()
    by_graph: Mapping[str, GraphSettings] = field(default_factory=dict)

    def of(self, graph_id: str) -> GraphSettings:
        """Return what goes for one graph."""
        return self.by_graph.get(graph_id, self.default)


def parse_maintenance(
    section: object, graph_ids: Collection[str]
) -> tuple[MaintenanceSettings, tuple[SettingsProblem, ...]]:
    """Read the section as YAML gave it, None for one that is not there; return the settings and all problems.

    With problems the settings are not to be used: what was wrong is left at its default in them.
    """
    reader = _Reader()
    top = reader.mapping(section, SECTION, (*_GRAPH_KEYS, "graphs"))
    default = reader.graph(top, SECTION)
    by_graph = {}
    for graph_id, own in reader.mapping(top.get("graphs"), f"{SECTION}.graphs", None).items():
        path = f"{SECTION}.graphs.{printable(str(graph_id))}"
        if graph_id not in graph_ids:
            near = nearest(str(graph_id), graph_ids)
            meant = f"did you mean `{near}`?" if near else f"there are {', '.join(sorted(graph_ids)) or 'none'}."
            reader.wrong(path, f"names no graph; {meant}")
        before = len(reader.problems)
        mine = reader.graph(_overlaid(top, reader.mapping(own, path, _GRAPH_KEYS)), path)
        # What is wrong at the top was told there.
        told = {problem.path.removeprefix(SECTION) for problem in reader.problems[:before]}
        reader.problems[before:] = [
            problem for problem in reader.problems[before:] if problem.path.removeprefix(path) not in told
        ]
        by_graph[str(graph_id)] = mine
    return MaintenanceSettings(default=default, by_graph=by_graph), tuple(reader.problems)


def _overlaid(top: _Mapping, own: _Mapping) -> _Mapping:
    """Put what a graph says in the place of what goes for all of them, key by key."""
    merged = {key: value for key, value in top.items() if key != "graphs"} | dict(own)
    for part in ("optimize", "cleanup"):
        above, below = top.get(part), own.get(part)
        if isinstance(above, dict) and isinstance(below, dict):
            merged[part] = above | below
        elif isinstance(above, dict) and below is True:
            merged[part] = above
    return merged


class _Reader:
    """Reads values and collects what is wrong; whoever asked goes on with the default then."""

    def __init__(self) -> None:
        self.problems: list[SettingsProblem] = []

    def wrong(self, path: str, message: str) -> None:
        self.problems.append(SettingsProblem(path=path, message=message))

    def mapping(self, value: object, path: str, known: Collection[str] | None) -> _Mapping:
        """Return a mapping; what is left out is an empty one. `known` of None lets every key pass."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(path, f"must be a mapping of keys to values, not {_shown(value)}.")
            return {}
        for key in value:
            if known is not None and key not in known:
                near = nearest(str(key), known)
                meant = f"did you mean `{near}`?" if near else f"it has {', '.join(sorted(known))}."
                self.wrong(f"{path}.{printable(str(key))}", f"is an unknown key; {meant}")
            elif not isinstance(key, str):
                self.wrong(f"{path}.{printable(str(key))}", "is not text to YAML; quote it.")
        return {key: found for key, found in value.items() if isinstance(key, str)}

    def graph(self, keys: _Mapping, path: str) -> GraphSettings:
        fallback = GraphSettings()
        return GraphSettings(
            enabled=self._value(keys, path, "enabled", _boolean, default=True),
            optimize=self._optimize(keys.get("optimize", True), f"{path}.optimize"),
            cleanup=self._cleanup(keys.get("cleanup", False), f"{path}.cleanup"),
            quiet_hours=self._quiet_hours(keys, path),
            max_time=self._value(keys, path, "max_time", _optional(_positive_duration), default=None),
            max_bytes=self._value(keys, path, "max_bytes", _optional(_size), default=None),
            engine=self._value(keys, path, "engine", _engine, default=fallback.engine),
        )

    def _optimize(self, value: object, path: str) -> OptimizeSettings | None:
        keys, fallback = self._switch(value, path, _OPTIMIZE_KEYS), OptimizeSettings()
        if keys is None:
            return None
        return OptimizeSettings(
            fragments=self._value(keys, path, "fragments", _count, default=fallback.fragments),
            deleted_ratio=self._value(keys, path, "deleted_ratio", _share, default=fallback.deleted_ratio),
            coverage=self._value(keys, path, "coverage", _share, default=fallback.coverage),
            internal_fragments=self._value(
                keys, path, "internal_fragments", _count, default=fallback.internal_fragments
            ),
            all_branches=self._value(keys, path, "branches", _branches, default=fallback.all_branches),
        )

    def _switch(self, value: object, path: str, known: Collection[str]) -> _Mapping | None:
        """Read what is on (`true`, or its keys) or off (`false`); nothing at all could mean either."""
        if value is None:
            self.wrong(path, "must be true, false or a mapping of keys to values, not nothing.")
        return None if value is None or value is False else self.mapping(None if value is True else value, path, known)

    def _cleanup(self, value: object, path: str) -> CleanupSettings | None:
        keys, fallback = self._switch(value, path, _CLEANUP_KEYS), CleanupSettings()
        if keys is None:
            return None
        keep: int | None = self._value(keys, path, "keep", _optional(_count), default=None)
        older_than: timedelta | None = self._value(keys, path, "older_than", _optional(_duration), default=None)
        is_declared = keep is not None or older_than is not None
        return CleanupSettings(
            policy=CleanupPolicy(keep_versions=keep, older_than=older_than) if is_declared else fallback.policy,
            reclaimable=self._value(keys, path, "reclaimable", _size, default=fallback.reclaimable),
            share=self._value(keys, path, "share", _ratio, default=fallback.share),
        )

    def _quiet_hours(self, keys: _Mapping, path: str) -> QuietHours:
        zone = self._value(keys, path, "timezone", _timezone, default=QuietHours().timezone)
        nothing: tuple[str, ...] = ()
        spans = self._value(keys, path, "quiet_hours", _texts, default=nothing)
        try:
            return QuietHours(spans=read_spans(spans), timezone=zone)
        except ValueError as error:
            self.wrong(f"{path}.quiet_hours", f"cannot be read: {printable(str(error))}.")
            return QuietHours(timezone=zone)

    def _value(
        self, keys: _Mapping, path: str, key: str, read: Callable[[object], ValueT], *, default: ValueT
    ) -> ValueT:
        """Read one value; a key that is there without a value was meant to have one."""
        if key not in keys:
            return default
        try:
            return read(keys[key])
        except ValueError as error:
            self.wrong(f"{path}.{key}", f"{error}.")
            return default


def _optional(read: Callable[[object], ValueT]) -> Callable[[object], ValueT | None]:
    """Say that what is left out has no value; what is there is read as ever."""
    return read


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _unfit("true or false", value)
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _NUMBER_MAX:
        raise _unfit("a whole number of at least 1", value)
    return value


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _unfit("a share between 0 and 1", value)
    return float(value)


def _ratio(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _NUMBER_MAX:
        raise _unfit("a number of 0 or more", value)
    return float(value)


def _duration(value: object) -> timedelta:
    if not isinstance(value, str):
        raise _unfit("a duration with its unit, such as 7d", value)
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"cannot be read: {printable(str(error))}") from error


def _positive_duration(value: object) -> timedelta:
    found = _duration(value)
    if not found:
        raise _unfit("longer than nothing", value)
    return found


def _size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _unfit("a size, such as 64MiB", value)
    try:
        return parse_bytes(str(value))
    except ValueError as error:
        raise ValueError(f"cannot be read: {printable(str(error))}") from error


def _engine(value: object) -> EngineName:
    if value not in list(EngineName):
        raise _unfit(f"one of {', '.join(EngineName)}", value)
    return EngineName(str(value))


def _branches(value: object) -> bool:
    if not isinstance(value, str) or value not in _BRANCHES:
        raise _unfit("`all`, or `main` for main alone", value)
    return _BRANCHES[value]


def _timezone(value: object) -> str:
    if not isinstance(value, str):
        raise _unfit("the name of a time zone, such as Europe/Berlin", value)
    try:
        ZoneInfo(value)
    except (OSError, ValueError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise _unfit("the name of a time zone, such as Europe/Berlin", value) from error
    except KeyError as error:
        raise _unfit("the name of a time zone, such as Europe/Berlin", value) from error
    return value


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _unfit("spans of hours in quotes, such as ['mon-fri 08:00-18:00']", value)
    return tuple(str(text) for text in texts)


def _unfit(wanted: str, value: object) -> ValueError:
    return ValueError(f"must be {wanted}, not {_shown(value)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else printable(repr(value))[:60]
