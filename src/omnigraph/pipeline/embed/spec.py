"""What to embed in load files: for each type the texts and the property that takes the vector.

Written as a JSON file, or as the `embeddings:` of a seed manifest, which also says where the files are.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from omnigraph.base.plain_text import read_yaml
from omnigraph.base.values import dataclass
from omnigraph.errors import Io, Usage

_DEFAULT_OUTPUT = "build/seed.embedded.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpec:
    """How one type is embedded."""

    target: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedSpec:
    """How records are embedded, by type."""

    dimension: int
    types: Mapping[str, TypeSpec]
    warnings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, value: object, *, source: str) -> "EmbedSpec":
        """Read a decoded spec; raise `Usage` naming what is wrong and where."""
        if not isinstance(value, dict):
            raise _wrong(source, "the embedding spec must be an object with `dimension` and `types`")
        dimension, types = value.get("dimension"), value.get("types")
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise _wrong(source, f"`dimension` must be a whole number of at least 1, got {dimension!r}")
        if not isinstance(types, dict) or not types:
            raise _wrong(source, "`types` must name at least one type")
        warnings: tuple[str, ...] = ()
        if "model" in value:
            warnings = (f"{source}: `model` is ignored; the provider configuration decides (OMNIGRAPH_EMBED_MODEL)",)
        return cls(
            dimension=dimension,
            types={str(name): _type_spec(entry, str(name), source) for name, entry in types.items()},
            warnings=warnings,
        )

    @classmethod
    def given(cls, spec: "EmbedSpec | Mapping[str, object] | str | Path") -> "EmbedSpec":
        """Take what a caller gives: a spec, a mapping like the JSON one, or the path of one."""
        if isinstance(spec, (str, Path)):
            return cls.read(spec)
        return spec if isinstance(spec, EmbedSpec) else cls.parse(spec, source="<spec>")

    @classmethod
    def read(cls, path: str | Path) -> "EmbedSpec":
        """Read a spec file."""
        try:
            value = json.loads(_text(path))
        except (ValueError, RecursionError) as error:
            raise _wrong(str(path), f"not JSON: {error}") from error
        return cls.parse(value, source=str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedManifest:
    """A YAML file that names the raw input, the embedded output and the spec; paths are relative to it."""

    input: str
    output: str
    spec: EmbedSpec

    @classmethod
    def read(cls, path: str | Path) -> "SeedManifest":
        """Read a manifest; raise `Usage` naming what is missing."""
        source = str(path)
        text = _text(path)
        try:
            value = read_yaml(text)
        except ValueError as error:
            raise _wrong(source, f"not YAML: {error}") from error
        if not isinstance(value, dict):
            raise _wrong(source, "a manifest has the members `sources` and `embeddings`")
        raw = _member(value, "sources", "raw_seed") or _member(value, "seed", "data")
        if raw is None:
            raise _wrong(source, "`sources.raw_seed` is missing: it names the file to embed")
        if "embeddings" not in value:
            raise _wrong(source, "`embeddings` is missing: it says what to embed")
        directory = Path(path).parent
        return cls(
            input=str(directory / raw),
            output=str(directory / (_member(value, "artifacts", "embedded_seed") or _DEFAULT_OUTPUT)),
            spec=EmbedSpec.parse(value["embeddings"], source=source),
        )


def _member(value: Mapping[str, object], outer: str, inner: str) -> str | None:
    section = value.get(outer)
    found = section.get(inner) if isinstance(section, dict) else None
    return found if isinstance(found, str) and found else None


def _type_spec(entry: object, name: str, source: str) -> TypeSpec:
    target = entry.get("target") if isinstance(entry, dict) else None
    fields = entry.get("fields") if isinstance(entry, dict) else None
    if not isinstance(target, str) or not target.strip():
        raise _wrong(source, f"`types.{name}.target` must name the property that takes the vector")
    if not isinstance(fields, list) or not fields or not all(isinstance(field, str) and field for field in fields):
        raise _wrong(source, f"`types.{name}.fields` must list the properties that make up the text")
    return TypeSpec(target=target, fields=tuple(fields))


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Io(f"Cannot read {path}: {reason}.", path=str(path)) from error


def _wrong(source: str, problem: str) -> Usage:
    return Usage(f"{source}: {problem}.")
