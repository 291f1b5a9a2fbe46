"""What the rules pass to each other while a type is being shaped: values with the places that wrote them."""

from dataclasses import field

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Constraint
from omnigraph.catalog.shape import PropertyShape, TypeKind
from omnigraph.language.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The type whose body is read; `str()` spells it as in `node Boat`."""

    kind: TypeKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredProperty:
    """A property and where it comes from: its name in a body, or the interface in an `implements` list."""

    shape: PropertyShape
    span: Span
    annotation_spans: dict[str, Span] = field(default_factory=dict)

    def span_of(self, annotation: str) -> Span:
        """Return where `@annotation` was written, or the property itself if that was elsewhere."""
        return self.annotation_spans.get(annotation, self.span)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredConstraint:
    """A constraint and the annotation or body line that made it."""

    rule: Constraint
    span: Span
