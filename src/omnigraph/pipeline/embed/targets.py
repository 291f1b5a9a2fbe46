"""The `@embed` vectors of a schema, and the rows whose vector is pending."""

from collections.abc import Sequence

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EmbedSource, NodeType
from omnigraph.catalog.type_names import find_types
from omnigraph.errors import InvalidTarget
from omnigraph.storage.filters import Comparison, all_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A vector property, and where it comes from."""

    node: NodeType
    name: str
    dimension: int
    embed: EmbedSource

    @property
    def spelled(self) -> str:
        """The property as messages spell it."""
        return f"{self.node.name}.{self.name}"

    def wanted(self, *, reembed_all: bool) -> str:
        """Spell the filter of the rows that get a vector, as far as a filter can tell."""
        wanted = [Comparison(self.embed.source, "!=", None)]
        if not reembed_all:
            wanted.append(Comparison(self.name, "=", None))
        return all_of(wanted) or ""


def find_targets(catalog: Catalog, names: Sequence[str]) -> tuple[Target, ...]:
    """Return the `@embed` vectors of the named node types; raise for a name that is unknown or has none."""
    nodes = catalog.nodes
    if names:
        wanted = find_types(names, [node.table_key for node in catalog.nodes], what="node type")
        nodes = tuple(node for node in catalog.nodes if node.table_key in wanted)
    targets = tuple(target for node in nodes for target in _targets_of(node))
    for node in nodes:
        if names and not any(target.node is node for target in targets):
            raise InvalidTarget(f"{node.name} has no @embed vector, so there is nothing to embed.")
    return targets


def _targets_of(node: NodeType) -> list[Target]:
    return [
        Target(node=node, name=declared.name, dimension=declared.type.dimension or 0, embed=declared.embed)
        for declared in node.properties
        if declared.embed is not None
    ]
