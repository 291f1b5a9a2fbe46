"""What is wrong with ids, as findings: the same words in memory and on workers."""

from omnigraph.base.units import shorten
from omnigraph.catalog.model import EntityType
from omnigraph.records.findings import Code, Finding


def repeated_finding(
    entity: EntityType, identity: str, *, first: str, place: str, file_index: int, line: int
) -> Finding:
    """Word an id that the input gives twice where it may not; the finding stands at the later place."""
    return Finding(
        code=Code.DUPLICATE_ID,
        message=f"{entity.name} {shorten(identity)!r} occurs at {first} and again at {place}",
        file_index=file_index,
        line=line,
        table_key=entity.table_key,
    )


def existing_finding(entity: EntityType, identity: str, *, file_index: int, line: int) -> Finding:
    """Word an id that a strict insert found stored."""
    return Finding(
        code=Code.KEY_CONFLICT,
        message=f"{entity.name} {shorten(identity)!r} exists already",
        file_index=file_index,
        line=line,
        table_key=entity.table_key,
        row_id=identity,
    )
