"""Which records of load files a run means, and how a record's fields read as text."""

import json
from collections.abc import Mapping, Sequence

from omnigraph.base.nearest import listed, nearest
from omnigraph.base.values import dataclass
from omnigraph.catalog.type_names import bare_name, each_name
from omnigraph.errors import Usage
from omnigraph.pipeline.embed.spec import EmbedSpec, TypeSpec
from omnigraph.records.strict_json import Json, Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """`field=value`, or `Type:field=value` for one type only."""

    type_name: str | None
    field: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Read a selector; raise `Usage` showing the accepted form."""
        left, equals, value = text.partition("=")
        kind, _, rest = left.partition(":")
        if kind in {"node", "edge"} and ":" in rest:
            left = rest
        type_name, colon, field = left.partition(":")
        if not colon:
            type_name, field = "", left
        if not equals or not field.strip() or (colon and not type_name.strip()):
            raise Usage(f"--select takes field=value or Type:field=value, not `{text}`.", flag="--select")
        return cls(type_name=type_name.strip() or None, field=field.strip(), value=value.strip())

    def matches(self, type_name: str, data: Mapping[str, Json]) -> bool:
        """Tell whether a record is meant."""
        return self.type_name in {None, type_name} and render(data.get(self.field)) == self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """The types and selectors of a run; without any, all records of the spec's types."""

    types: frozenset[str]
    selectors: tuple[Selector, ...]

    @classmethod
    def of(cls, spec: EmbedSpec, *, types: Sequence[str], select: Sequence[str]) -> "RecordFilter":
        """Check what was asked for against the spec: a type it does not know would silently select nothing."""
        selectors = tuple(Selector.parse(text) for text in select)
        named = tuple(map(bare_name, each_name(types)))
        for name in (*named, *(selector.type_name for selector in selectors if selector.type_name)):
            if name not in spec.types:
                meant = nearest(name, spec.types)
                hint = f"did you mean {meant}? It has" if meant is not None else "it has"
                raise Usage(f"The embedding spec has no type {name!r}; {hint} {listed(sorted(spec.types))}.")
        return cls(types=frozenset(named or spec.types), selectors=selectors)

    def matches(self, type_name: str, data: Mapping[str, Json]) -> bool:
        """Tell whether a record of a type of the spec is selected."""
        if type_name not in self.types:
            return False
        return not self.selectors or any(selector.matches(type_name, data) for selector in self.selectors)


def record_text(type_name: str, data: Mapping[str, Json], spec: TypeSpec) -> str:
    """Return the text that a record is embedded as: its type, then every field that says something."""
    lines = [f"type: {type_name}"]
    for field in spec.fields:
        rendered = render(data.get(field))
        if rendered:
            lines.append(f"{field}: {rendered}")
    return "\n".join(lines)


def render(value: Json) -> str:
    """Spell a field as text for a model: bare strings, lists with commas, objects as JSON."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case Number():
            return str(value)
        case str():
            return value.strip()
        case list():
            return ", ".join(filter(None, map(render, value)))
        case dict():
            return spell_record(value)


def spell_record(value: Json) -> str:
    """Spell decoded JSON compactly, with every number as it was written."""
    match value:
        case dict():
            return f"{{{','.join(f'{spell_record(name)}:{spell_record(item)}' for name, item in value.items())}}}"
        case list():
            return f"[{','.join(map(spell_record, value))}]"
        case Number():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)
