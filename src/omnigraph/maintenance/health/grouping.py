"""Findings of one kind with one remedy are one finding that names its tables: people read five lines, not eighty. Pure.

Every finding takes part, whoever made it: those with the same code, branch and command go together. How their messages
become one is said here by code; a code that is not named here gets the messages side by side.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from omnigraph.base.units import counted
from omnigraph.maintenance.health.finding import Figures, Finding, most_urgent_first

NEVER_OPTIMIZED = "never_optimized"
NO_ROWS = "no rows yet"
_FIRST_RUN_SETTLES = frozenset({"fragmented", "index_missing", "index_stale"})
_NAMED_MAX = 3


def group_findings(
    findings: Iterable[Finding], *, never_optimized: Iterable[str | None] = (), fix_for_all_branches: str | None = None
) -> list[Finding]:
    """Put together what belongs together; on branches that were never optimized, all that a first run settles.

    Branches stay apart, because each has a command of its own, except under the command that is for all of them.
    """
    fresh = frozenset(never_optimized)
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        branch = None if finding.fix == fix_for_all_branches else finding.branch
        groups.setdefault((branch, *_kind(finding, fresh)), []).append(finding)
    return [_as_one(members, fresh) for members in groups.values()]


def _kind(finding: Finding, fresh: frozenset[str | None]) -> tuple[str | None, ...]:
    code = NEVER_OPTIMIZED if _is_first_run(finding, fresh) else finding.code
    # What has no rows yet and what has too few vectors wait for different things, under one code.
    waits_for = finding.figures.waits_for if finding.figures is not None else None
    return code, finding.fix, waits_for


def _is_first_run(finding: Finding, fresh: frozenset[str | None]) -> bool:
    return finding.code in _FIRST_RUN_SETTLES and finding.branch in fresh


def _as_one(found: Sequence[Finding], fresh: frozenset[str | None]) -> Finding:
    members = most_urgent_first(found)
    first = members[0]
    if _is_first_run(first, fresh):
        message, code = f"never optimized: {_first_run(members)}", NEVER_OPTIMIZED
    else:
        code = first.code
        message = first.message if len(members) == 1 else _TOGETHER.get(code, _side_by_side)(members)
    places = {(member.table_key, member.branch) for member in members}
    branches = {member.branch for member in members}
    return replace(
        first,
        code=code,
        message=message,
        table_key=first.table_key if len(places) == 1 else None,
        branch=first.branch if len(branches) == 1 else None,
        members=tuple(members) if len(members) > 1 else (),
    )


def _sum(members: Iterable[Finding]) -> Figures:
    figures = [member.figures for member in members if member.figures is not None]
    return Figures(
        fragments_before=sum(one.fragments_before for one in figures),
        fragments_after=sum(one.fragments_after for one in figures),
        deleted_rows=sum(one.deleted_rows for one in figures),
        built_in=tuple(dict.fromkeys(column for one in figures for column in one.built_in)),
        declared=tuple(column for one in figures for column in one.declared),
        known_percent=min((one.known_percent for one in figures), default=100),
        pending_rows=sum(one.pending_rows for one in figures),
    )


def spell_fragments(figures: Figures) -> str:
    """Say what merging fragments would come to."""
    dead = f", with {counted(figures.deleted_rows, 'deleted row')} in them" if figures.deleted_rows else ""
    return f"{counted(figures.fragments_before, 'fragment')} could be {figures.fragments_after}{dead}"


def spell_missing_indexes(figures: Figures) -> str:
    """Say which indexes are not built, those that every table has apart from those that the schema declares."""
    parts = []
    if figures.built_in:
        many = "indexes that every table has are" if len(figures.built_in) > 1 else "index that every table has is"
        parts.append(f"the {many} not built (on {', '.join(figures.built_in)})")
    if figures.declared:
        number = len(figures.declared)
        many = f"{number} declared indexes are" if number > 1 else "1 declared index is"
        # A property may have one index for values and one for words.
        parts.append(f"{many} not built (on {_named(tuple(dict.fromkeys(figures.declared)))})")
    return "; ".join(parts)


def spell_stale_indexes(figures: Figures) -> str:
    """Say how far behind indexes are."""
    return f"the least complete index knows {figures.known_percent}% of the rows"


def spell_vectors(figures: Figures) -> str:
    """Say how many vectors are missing."""
    return f"{counted(figures.pending_rows, 'row')} without the vector that @embed declares"


def _first_run(members: Sequence[Finding]) -> str:
    figures = _sum(members)
    stale = spell_stale_indexes(figures) if figures.known_percent < 100 else ""
    fragments = spell_fragments(figures) if figures.fragments_before else ""
    return "; ".join(filter(None, (spell_missing_indexes(figures), stale, fragments)))


def _waiting(members: Sequence[Finding]) -> str:
    figures = members[0].figures
    if figures is not None and figures.waits_for == NO_ROWS:
        return f"{NO_ROWS}, so there is nothing to index"
    return _side_by_side(members)


def _side_by_side(members: Sequence[Finding]) -> str:
    messages = dict.fromkeys(member.message for member in members)
    if len(messages) == 1:
        return members[0].message
    shown = "; ".join(
        f"{member.place}: {member.message}" if member.table_key else member.message for member in members[:_NAMED_MAX]
    )
    more = len(members) - _NAMED_MAX
    return f"{shown}; and {more} more" if more > 0 else shown


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED_MAX])
    return shown if len(names) <= _NAMED_MAX else f"{shown} and {len(names) - _NAMED_MAX} more"


def _added_up(spell: Callable[[Figures], str]) -> Callable[[Sequence[Finding]], str]:
    return lambda members: spell(_sum(members))


_TOGETHER: dict[str, Callable[[Sequence[Finding]], str]] = {
    "fragmented": _added_up(spell_fragments),
    "index_missing": _added_up(spell_missing_indexes),
    "index_stale": _added_up(spell_stale_indexes),
    "vectors_pending": _added_up(spell_vectors),
    "index_pending": _waiting,
}
