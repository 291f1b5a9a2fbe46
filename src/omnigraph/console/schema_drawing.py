"""The schema as text of a Mermaid diagram: types with their counts, and the edges between them.

Names of types and properties are identifiers, so nothing in the text can mean something else to the drawing library.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, NodeType

_PROPERTIES_MAX = 8
_TYPES_WITH_PROPERTIES_MAX = 24


def schema_diagram(catalog: "Catalog", counts: Mapping[str, int]) -> str:
    """Return the text; `counts` are entities by table key. Of many types only the names are drawn."""
    is_short = len(catalog.nodes) > _TYPES_WITH_PROPERTIES_MAX
    return "\n".join(
        ["erDiagram", "  direction LR", *_boxes(catalog, counts, is_short=is_short), *_lines(catalog, counts)]
    )


def _boxes(catalog: "Catalog", counts: Mapping[str, int], *, is_short: bool) -> Iterator[str]:
    for node in catalog.nodes:
        title = f'{node.name}["{node.name} · {counts.get(node.table_key, 0):,}"]'
        if is_short or not node.properties:
            yield f"  {title}"
            continue
        yield f"  {title} {{"
        yield from _properties(node)
        yield "  }"


def _properties(node: "NodeType") -> Iterator[str]:
    keys = node.key.properties if node.key is not None else ()
    ordered = sorted(node.properties, key=lambda each: each.name not in keys)
    for each in ordered[:_PROPERTIES_MAX]:
        spelled = "enum" if each.type.enum_values is not None else str(each.type).rstrip("?").strip("[]")
        plain = f"{spelled}[]" if each.type.is_list else spelled
        yield f"    {plain} {each.name}{' PK' if each.name in keys else ''}"
    rest = len(ordered) - _PROPERTIES_MAX
    if rest > 0:
        yield f"    and {rest}_more"


def _lines(catalog: "Catalog", counts: Mapping[str, int]) -> Iterator[str]:
    for edge in catalog.edges:
        at_most_one = edge.cardinality is not None and edge.cardinality.high == 1
        end = "o|" if at_most_one else "o{"
        yield f'  {edge.from_type} }}o--{end} {edge.to_type} : "{edge.name} · {counts.get(edge.table_key, 0):,}"'
