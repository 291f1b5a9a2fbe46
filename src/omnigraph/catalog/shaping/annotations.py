"""Where each annotation may stand and what it may hold.

Known annotations are checked and taken apart; unknown ones are kept as they are and never fail.
"""

from omnigraph.base.values import dataclass
from omnigraph.catalog.canonical import sort_annotations
from omnigraph.catalog.model import Annotation, EmbedSource, LiteralValue
from omnigraph.catalog.shaping.declared import Owner
from omnigraph.language.problems import Problems
from omnigraph.language.schema.syntax import AnnotationSyntax, LiteralSyntax, WordSyntax

MEMBER_KINDS = ("index", "key", "unique")
_CARRIED = ("description", "instruction")
_ON_TYPES = frozenset({*_CARRIED, "rename_from"})
_ON_NODE_PROPERTIES = frozenset({*MEMBER_KINDS, "embed", "default", "description", "rename_from"})
_ON_EDGE_PROPERTIES = _ON_NODE_PROPERTIES - {"key", "embed"}
_KNOWN = _ON_TYPES | _ON_NODE_PROPERTIES | {"card", "range", "check"}
_RIGHT_PLACE = {
    "card": "write @card(low..high) in the header of an edge",
    "check": 'write @check(property, "pattern") in the body of a node',
    "embed": "it belongs on a vector property of a node",
    "instruction": "it belongs on a node or edge type",
    "key": "it belongs on a property of a node, or in the body as @key(property)",
    "range": "write @range(property, low..high) in the body of a node",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """The annotations of one type or property, taken apart."""

    kept: tuple[Annotation, ...]
    member_kinds: tuple[str, ...]
    rename_from: str | None
    embed: EmbedSource | None
    default: AnnotationSyntax | None


def read_type_annotations(owner: Owner, written: tuple[AnnotationSyntax, ...], problems: Problems) -> Annotations:
    """Check the annotations in the header of a node or edge."""
    return _Reader(target=str(owner), allowed=_ON_TYPES, problems=problems).read(written)


def read_property_annotations(
    owner: Owner, property_name: str, written: tuple[AnnotationSyntax, ...], problems: Problems
) -> Annotations:
    """Check the annotations after a property; whether they fit its type is for `shaping.properties` to say."""
    allowed = _ON_EDGE_PROPERTIES if owner.kind == "edge" else _ON_NODE_PROPERTIES
    return _Reader(target=f"{owner.name}.{property_name}", allowed=allowed, problems=problems).read(written)


class _Reader:
    """Checks the annotations of one target, which every message names."""

    def __init__(self, *, target: str, allowed: frozenset[str], problems: Problems) -> None:
        self._target = target
        self._allowed = allowed
        self._problems = problems

    def read(self, written: tuple[AnnotationSyntax, ...]) -> Annotations:
        known: dict[str, AnnotationSyntax] = {}
        kept = [_unchanged(annotation) for annotation in written if annotation.name.text not in _KNOWN]
        for annotation in written:
            if annotation.name.text in _KNOWN and self._may_stand_here(annotation, known):
                known[annotation.name.text] = annotation
        texts = {name: self._text(known[name]) for name in _ON_TYPES if name in known}
        kept += [Annotation(name=name, value=texts[name]) for name in _CARRIED if texts.get(name)]
        return Annotations(
            kept=sort_annotations(kept),
            member_kinds=tuple(kind for kind in MEMBER_KINDS if kind in known),
            rename_from=texts.get("rename_from"),
            embed=self._embed(known["embed"]) if "embed" in known else None,
            default=known.get("default"),
        )

    def _may_stand_here(self, annotation: AnnotationSyntax, known: dict[str, AnnotationSyntax]) -> bool:
        name = annotation.name.text
        if name not in self._allowed:
            place = _RIGHT_PLACE.get(name, "it belongs on a property")
            self._problems.add(annotation.span, f"@{name} is not allowed on {self._target}: {place}")
            return False
        if name in known:
            self._problems.add(annotation.span, f"@{name} appears multiple times on {self._target}")
            return False
        if name != "embed" and annotation.arguments:
            keyword = annotation.arguments[0].name
            self._problems.add(keyword.span, f"@{name} on {self._target} takes no keyword such as `{keyword}`")
            return False
        return True

    def _text(self, annotation: AnnotationSyntax) -> str | None:
        text = _text_of(annotation.value)
        if not text:
            self._problems.add(annotation.span, f"@{annotation.name} on {self._target} needs one non-empty text")
        return text

    def _embed(self, annotation: AnnotationSyntax) -> EmbedSource | None:
        source = _text_of(annotation.value)
        if not source:
            message = f"@embed on {self._target} needs the name of the property that the vector is made from"
            self._problems.add(annotation.span, message)
            return None
        model: str | None = None
        for argument in annotation.arguments:
            if argument.name.text != "model":
                message = f"@embed on {self._target} has the unknown keyword `{argument.name}`; it takes only `model`"
                self._problems.add(argument.name.span, message)
            elif not (model := _text_of(argument.value)):
                self._problems.add(argument.value.span, f"the model of @embed on {self._target} is not a name")
        return EmbedSource(source=source, model=model)


def _text_of(value: LiteralSyntax | WordSyntax | None) -> str | None:
    plain = _plain(value)
    return plain if isinstance(plain, str) else None


def _unchanged(annotation: AnnotationSyntax) -> Annotation:
    arguments = sorted((argument.name.text, argument.value.value) for argument in annotation.arguments)
    return Annotation(name=annotation.name.text, value=_plain(annotation.value), kwargs=tuple(arguments))


def _plain(value: LiteralSyntax | WordSyntax | None) -> LiteralValue | None:
    if isinstance(value, WordSyntax):
        return value.text
    return None if value is None else value.value
