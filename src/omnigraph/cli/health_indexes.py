"""The indexes of a graph on the health page: those that every table has, and those that the schema declares."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.cli.health_charts import Bar, bars, folded
from omnigraph.cli.health_view import spell_share, table_name
from omnigraph.documents.health import index_documents, table_document

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.judging import HealthReport

_SHOWN_MAX = 12
_COMPLETE, _INCOMPLETE = "var(--good)", "var(--warn)"

Named = tuple[str, dict[str, Any]]
"""A table's name and one of its indexes."""


def index_sections(report: "HealthReport") -> Iterator[str]:
    """Show how much of the rows indexes know; nothing for a graph without any."""
    found: list[Named] = [
        (table_name(table_document(table)), index) for table in report.health.tables for index in index_documents(table)
    ]
    built_in = [named for named in found if named[1]["built_in"]]
    declared = [named for named in found if not named[1]["built_in"]]
    if not found:
        return
    yield '<h2>Indexes</h2><div class="card">'
    yield f"<h3>Indexes that every table has · {_counts(built_in)}</h3>"
    yield from bars(_by_column(built_in), whole=1.0)
    yield f"<h3>Declared in the schema · {_counts(declared) if declared else 'none'}</h3>"
    ordered = sorted(declared, key=lambda named: (named[1]["coverage"], named[0]))
    incomplete = [named for named in ordered if named[1]["kind"] and named[1]["coverage"] < 1.0]
    parts = {
        "incomplete": incomplete[_SHOWN_MAX:],
        "not built": [named for named in ordered if not named[1]["kind"]],
        "complete": [named for named in ordered if named[1]["coverage"] == 1.0],
    }
    yield from bars(map(_bar, incomplete[:_SHOWN_MAX]), whole=1.0)
    for state, named in parts.items():
        if named:
            more = "more " if state == "incomplete" else ""
            yield from folded(f"{len(named)} {more}{state}", bars(map(_bar, named), whole=1.0))
    yield "</div>"


def _counts(indexes: list[Named]) -> str:
    complete = sum(index["coverage"] == 1.0 for _, index in indexes)
    return f"all {complete} complete" if complete == len(indexes) else f"{complete} of {len(indexes)} complete"


def _by_column(indexes: list[Named]) -> Iterator[Bar]:
    """Draw one bar per column of the program: in how many of the tables its index is complete."""
    for column in dict.fromkeys(", ".join(index["columns"]) for _, index in indexes):
        shares = [index["coverage"] for _, index in indexes if ", ".join(index["columns"]) == column]
        complete = sum(share == 1.0 for share in shares)
        color = _COMPLETE if complete == len(shares) else _INCOMPLETE
        says = f"complete in {complete} of {len(shares)}"
        yield Bar(name=column, parts=((complete / len(shares), color),), says=says)


def _bar(named: Named) -> Bar:
    table, index = named
    share = index["coverage"]
    kind = index["declared_as"] or index["kind"]
    return Bar(
        name=f"{table} {', '.join(index['columns'])} ({kind})",
        parts=((share, _COMPLETE if share == 1.0 else _INCOMPLETE),),
        says=spell_share(share) if index["kind"] else "not built",
    )
