"""What a merge has decided about the entities of one table, and what workers keep of it for what follows.

A resolution is `(id, outcome, part, row_id, row_address, key columns…, target_row, target_address)`, for edges also
`target_src`; the source's row is null where it has none, and the target's likewise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from omnigraph.branches.merge.bulk.merged_state import TAKEN
from omnigraph.branches.merge.bulk.rows import LOCATION_FIELDS
from omnigraph.branches.merge.resolution import agreement_expression
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType
from omnigraph.writes.constraints.keys import key_fields, member_columns
from omnigraph.writes.constraints.resulting_state import number_of
from omnigraph.writes.exchange.stages import Kept, Query

CARRIED_ROWS, RESOLVED, TAKEN_ROWS, REMOVED_ROWS, VALUES, ENDS = (
    "rows",
    "resolved",
    "taken",
    "removed",
    "values",
    "ends",
)
"""The shelves of a merge that more than one stage looks at."""


def carried_columns(entity: EntityType) -> list[str]:
    """Return what travels with an entity of the source beside its id: where its row is, and its key columns."""
    return [name for name, _ in LOCATION_FIELDS] + [name for name, _ in key_fields(entity) if name != "id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldValues:
    """The values of one `@unique` rule and who holds them, written and stored ones in one relation."""

    relation: str
    columns: tuple[str, ...]

    @property
    def kept(self) -> Kept:
        """Return how they are kept: equal values meet."""
        return Kept(relation=self.relation, shelf=VALUES, columns=(*self.columns, "id"), by=self.columns)


def held_values(entity: EntityType) -> Iterator[HeldValues]:
    """Name the values that entities of a type hold for themselves, rule by rule."""
    column_by_name = member_columns(entity)
    for place, rule in enumerate(entity.uniques):
        columns = tuple(column_by_name[name] for name in rule.properties)
        yield HeldValues(relation=f"{number_of(entity)}_held{place}", columns=columns)


def end_types(catalog: Catalog, edge: EdgeType) -> tuple[tuple[str, NodeType], ...]:
    """Return the columns of an edge's ends, and of which type the nodes are."""
    return ("src", catalog.node_by_name[edge.from_type]), ("dst", catalog.node_by_name[edge.to_type])


def settled(entity: EntityType, catalog: Catalog, resolutions: Sequence[str], *, place: int) -> tuple[Query, ...]:
    """Put the resolutions against all bases together, and keep what the checks and the writers will look at."""
    number = number_of(entity)
    queries = [
        Query(
            name="resolved",
            text=_located(entity, resolutions),
            keeps=(Kept(relation=f"{number}_resolved", shelf=RESOLVED),),
        ),
        Query(
            name="counts",
            text=(
                f"SELECT {place} AS place, outcome, count(*) AS entities, count(row_id) AS images, "
                "count(target_row) AS held FROM resolved GROUP BY outcome"
            ),
            is_answer=True,
        ),
        Query(
            name="taken",
            text=f"SELECT part, row_id, row_address, target_row FROM resolved WHERE {TAKEN}",
            keeps=(Kept(relation=f"{number}_taken", shelf=TAKEN_ROWS, by_number="part"),),
        ),
        Query(
            name="removed",
            text=(
                "SELECT target_address >> 32 AS fragment, target_address & 4294967295 AS position FROM resolved "
                "WHERE target_address IS NOT NULL"
            ),
            keeps=(Kept(relation=f"{number}_removed", shelf=REMOVED_ROWS, by_number="fragment"),),
        ),
    ]
    queries += [
        Query(name=values.relation, text=f"SELECT * FROM resolved WHERE {TAKEN}", keeps=(values.kept,))
        for values in held_values(entity)
    ]
    if isinstance(entity, EdgeType):
        queries += [
            Query(
                name=f"ends_{column}",
                text=f"SELECT DISTINCT {column} AS id FROM resolved WHERE {TAKEN}",
                keeps=(Kept(relation=f"{number_of(node)}_ends", shelf=ENDS, by=("id",)),),
            )
            for column, node in end_types(catalog, entity)
        ]
    return tuple(queries)


def _located(entity: EntityType, resolutions: Sequence[str]) -> str:
    """Find the target's rows of the same ids."""
    carried = carried_columns(entity)
    found = resolutions[0]
    if len(resolutions) > 1:
        listed = ", ".join(["id", "outcome", *carried])
        union = " UNION ALL ".join(f"SELECT {listed} FROM {name}" for name in resolutions)
        # An entity has one image in the source, whichever base it was compared with.
        merged = ", ".join(f"max({name}) AS {name}" for name in carried)
        agreed = f"{agreement_expression(len(resolutions))} AS outcome"
        found = f"(SELECT id, {agreed}, {merged} FROM ({union}) GROUP BY id)"
    sources = ", t.src AS target_src" if isinstance(entity, EdgeType) else ""
    return f"""
        SELECT r.id, r.outcome, {", ".join(f"r.{name}" for name in carried)},
            t.row_id AS target_row, t.row_address AS target_address{sources}
        FROM {found} r LEFT JOIN stored t ON r.id = t.id
    """
