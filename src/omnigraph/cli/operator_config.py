"""One person's configuration: `config.yaml` in `~/.omnigraph` or `$OMNIGRAPH_HOME`.

Reading is strict about shape and forgiving about keys: a key nobody knows becomes a warning, a value of the wrong
kind an error. Names are looked up only when a command uses them (`scope.py`, `aliases.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from omnigraph import errors
from omnigraph.base.home import expand_home
from omnigraph.base.plain_text import plain_text, printable, read_yaml
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineName

HOME_VARIABLE = "OMNIGRAPH_HOME"
BINDINGS = ("server", "cluster", "store")
OUTPUT_FORMATS = ("table", "kv", "csv", "jsonl", "json")
CELL_LAYOUTS = ("truncate", "wrap")
ENGINES = tuple(name.value for name in EngineName)

_WIDTH = 80
_NOTHING: Mapping[str, object] = MappingProxyType({})
_ANYTHING = MappingProxyType({"*": None})

# Every key somebody reads, or will: `*` stands for a name chosen by the operator, None for a value.
_KNOWN_KEYS: Mapping[str, object] = {
    "operator": {"actor": None},
    "servers": {"*": {"url": None}},
    "clusters": {"*": {"root": None}},
    "profiles": {"*": {"server": None, "cluster": None, "store": None, "default_graph": None}},
    "defaults": {
        "server": None,
        "store": None,
        "default_graph": None,
        "output": None,
        "table_max_column_width": None,
        "table_cell_layout": None,
        "engine": None,
    },
    "spark": {"master": None, "remote": None, "conf": _ANYTHING},
    "aliases": {"*": {"server": None, "graph": None, "query": None, "args": None, "params": _ANYTHING, "format": None}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named scope; it is usable only with exactly one binding, which is checked when it is used."""

    name: str
    bindings: tuple[tuple[str, str], ...]
    default_graph: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What applies when neither the line nor the environment says anything."""

    server: str | None = None
    store: str | None = None
    default_graph: str | None = None
    output: str = "table"
    table_max_column_width: int = _WIDTH
    table_cell_layout: str = "truncate"
    engine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """The Spark session that bulk work should use."""

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A stored read with its address; what it lacks is said when it is used (`aliases.py`)."""

    name: str
    server: str | None = None
    graph: str | None = None
    query: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, object] = field(default_factory=dict)
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """The whole file; `warnings` are about keys that were ignored."""

    path: Path
    actor: str | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    spark: SparkSettings = field(default_factory=SparkSettings)
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def operator_home(environ: Mapping[str, str]) -> Path:
    """Return the operator's directory, which need not exist."""
    return expand_home(environ.get(HOME_VARIABLE) or "~/.omnigraph")


def read_operator_config(environ: Mapping[str, str]) -> OperatorSettings:
    """Read and check the file; a missing one is an empty configuration."""
    path = operator_home(environ) / "config.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return OperatorSettings(path=path)
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(path, f"cannot be read: {error}") from error
    return _ConfigReader(path).config(_parse_yaml(path, text))


def _parse_yaml(path: Path, text: str) -> object:
    try:
        return read_yaml(text)
    except ValueError as error:
        raise _broken(path, f"cannot be parsed: {printable(str(error))}") from error


def _broken(path: Path, reason: str) -> errors.OperatorConfig:
    return errors.OperatorConfig(f"operator config '{path}' {reason}", path=str(path))


class _ConfigReader:
    """Turns parsed YAML into a configuration; every complaint names the key and the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def config(self, parsed: object) -> OperatorSettings:
        root = self._mapping(parsed, "the file")
        return OperatorSettings(
            path=self._path,
            actor=self._text(self._section(root, "operator"), "operator.actor"),
            servers=self._named_texts(root, "servers", "url"),
            clusters=self._named_texts(root, "clusters", "root"),
            profiles=self._profiles(root),
            defaults=self._defaults(self._section(root, "defaults")),
            spark=self._spark(self._section(root, "spark")),
            aliases={name: self._alias(name, entry) for name, entry in self._section(root, "aliases").items()},
            warnings=tuple(map(self._unknown_key_warning, _unknown_keys(root, _KNOWN_KEYS))),
        )

    def _profiles(self, root: Mapping[str, object]) -> dict[str, Profile]:
        profiles = {}
        for name, entry in self._section(root, "profiles").items():
            keys = self._mapping(entry, f"profiles.{name}")
            values = {kind: self._text(keys, f"profiles.{name}.{kind}") for kind in BINDINGS}
            profiles[name] = Profile(
                name=name,
                bindings=tuple((kind, value) for kind, value in values.items() if value is not None),
                default_graph=self._text(keys, f"profiles.{name}.default_graph"),
            )
        return profiles

    def _defaults(self, keys: Mapping[str, object]) -> Defaults:
        defaults = Defaults(
            server=self._text(keys, "defaults.server"),
            store=self._text(keys, "defaults.store"),
            default_graph=self._text(keys, "defaults.default_graph"),
            output=self._choice(keys, "defaults.output", OUTPUT_FORMATS) or "table",
            table_max_column_width=self._width(keys, "defaults.table_max_column_width"),
            table_cell_layout=self._choice(keys, "defaults.table_cell_layout", CELL_LAYOUTS) or CELL_LAYOUTS[0],
            engine=self._choice(keys, "defaults.engine", ENGINES),
        )
        if defaults.server and defaults.store:
            raise _broken(self._path, "has both defaults.server and defaults.store; keep one")
        if defaults.store and defaults.default_graph:
            raise _broken(
                self._path, "has defaults.default_graph beside defaults.store, which is already a single graph"
            )
        return defaults

    def _spark(self, keys: Mapping[str, object]) -> SparkSettings:
        conf = self._section(keys, "conf", "spark.conf")
        spark = SparkSettings(
            master=self._text(keys, "spark.master"),
            remote=self._text(keys, "spark.remote"),
            conf={name: self._spark_value(name, value) for name, value in conf.items()},
        )
        if spark.master and spark.remote:
            raise _broken(self._path, "has both spark.master and spark.remote; keep one")
        return spark

    def _alias(self, name: str, entry: object) -> Alias:
        path = f"aliases.{name}"
        keys = self._mapping(entry, path)
        args = keys.get("args") or []
        if not isinstance(args, list) or not all(isinstance(arg, str) and arg.strip() for arg in args):
            raise _broken(self._path, f"has a `{path}.args` that is not a list of names")
        if len(set(args)) < len(args):
            raise _broken(self._path, f"names a parameter twice in `{path}.args`")
        return Alias(
            name=name,
            server=self._text(keys, f"{path}.server"),
            graph=self._text(keys, f"{path}.graph"),
            query=self._text(keys, f"{path}.query"),
            args=tuple(self._plain(arg.strip(), f"`{path}.args`") for arg in args),
            params=self._section(keys, "params", f"{path}.params"),
            format=self._choice(keys, f"{path}.format", OUTPUT_FORMATS),
        )

    def _spark_value(self, name: str, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int | float):
            return self._plain(str(value), f"`spark.conf.{name}`")
        raise _broken(self._path, f"has a `spark.conf.{name}` that is neither text nor a number")

    def _named_texts(self, root: Mapping[str, object], section: str, key: str) -> dict[str, str]:
        texts = {}
        for name, entry in self._section(root, section).items():
            path = f"{section}.{name}"
            text = self._text(self._mapping(entry, path), f"{path}.{key}")
            if text is None:
                raise _broken(self._path, f"lacks `{path}.{key}`")
            texts[name] = text
        return texts

    def _section(self, parent: Mapping[str, object], key: str, path: str | None = None) -> Mapping[str, object]:
        return self._mapping(parent.get(key), path or key)

    def _mapping(self, value: object, path: str) -> Mapping[str, object]:
        if value is None:
            return _NOTHING
        if not isinstance(value, dict):
            raise _broken(self._path, f"has a `{path}` that is not a mapping of keys to values")
        return {self._plain(str(key), f"key in `{path}`"): entry for key, entry in value.items()}

    def _text(self, keys: Mapping[str, object], path: str) -> str | None:
        value = keys.get(path.rpartition(".")[2])
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise _broken(self._path, f"has a `{path}` that is not text")
        return self._plain(value.strip(), f"`{path}`")

    def _plain(self, text: str, what: str) -> str:
        return plain_text(text, what=f"The {what}", refusal=lambda reason: _broken(self._path, f"is wrong: {reason}"))

    def _choice(self, keys: Mapping[str, object], path: str, choices: tuple[str, ...]) -> str | None:
        value = self._text(keys, path)
        if value is not None and value not in choices:
            raise _broken(self._path, f"has `{path}: {value}`; it is one of {', '.join(choices)}")
        return value

    def _width(self, keys: Mapping[str, object], path: str) -> int:
        value = keys.get(path.rpartition(".")[2], _WIDTH)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _broken(self._path, f"has a `{path}` that is not a number of characters")
        return value

    def _unknown_key_warning(self, path: str) -> str:
        warning = f"unknown key `{printable(path)}` in operator config '{self._path}'"
        if path.rpartition(".")[2] == "token":
            return f"{warning}; tokens do not live here, use omnigraph login"
        return warning


def _unknown_keys(value: object, known: object, prefix: str = "") -> Iterator[str]:
    if not isinstance(value, Mapping) or not isinstance(known, Mapping):
        return
    for key, entry in value.items():
        path = f"{prefix}{key}"
        if key in known:
            yield from _unknown_keys(entry, known[key], f"{path}.")
        elif "*" in known:
            yield from _unknown_keys(entry, known["*"], f"{path}.")
        else:
            yield path
