"""How the tables of one branch are doing; each is looked at by itself, so that a damaged one hides no other."""

from collections.abc import Iterator, Mapping
from functools import partial

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.maintenance.health.damage import DamagedPart, DamageLog
from omnigraph.maintenance.optimize.facts import TableFacts, observe_table
from omnigraph.maintenance.optimize.plan import TablePlan, plan_tables
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.repair.drift import Classification, TableDrift, find_lasting_drift
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.storage.filters import Comparison, all_of
from omnigraph.storage.refs import list_refs
from omnigraph.storage.retention import stored_versions

DEFAULT_AIM = OptimizeRequest(dry_run=True)
"""What `optimize` does when nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHealth:
    """One table of `main`, or of a branch that owns it."""

    branch: str
    drift: TableDrift
    plan: TablePlan | None
    """What `optimize` would do; None for a table that cannot be read at its pin."""
    versions: int
    reclaimable_bytes: int
    pending_vectors: int

    @property
    def table_key(self) -> TableKey:
        """The table's name."""
        return self.drift.pin.table_key

    @property
    def facts(self) -> TableFacts | None:
        """How the table lies on disk."""
        return None if self.plan is None else self.plan.facts


def observe_tables_of(
    capture: Capture, reclaimable: Mapping[tuple[str, str | None], int], damages: DamageLog, aim: OptimizeRequest
) -> Iterator[TableHealth]:
    """Look at every table that a branch owns; tables it inherits are their owner's matter."""
    branch = None if capture.snapshot.branch == MAIN_BRANCH else capture.snapshot.branch
    nothing: list[TableDrift] = []
    drifts = damages.attempt(
        partial(find_lasting_drift, capture.context, capture.snapshot.branch),
        otherwise=nothing,
        part=DamagedPart.BRANCH,
        where=None,
        branch=branch,
    )
    for drift in drifts:
        pin = drift.pin
        if drift.problem is not None:
            damages.note(
                part=DamagedPart.TABLE,
                where=pin.address.path,
                problem=drift.problem,
                table_key=pin.table_key,
                branch=branch,
            )
            continue
        found = damages.attempt(
            partial(_observe, capture, drift, reclaimable, aim),
            otherwise=None,
            part=DamagedPart.TABLE,
            where=pin.address.path,
            table_key=pin.table_key,
            branch=branch,
        )
        if found is not None:
            yield found
            _check_ref(capture, found, damages)


def _observe(
    capture: Capture, drift: TableDrift, reclaimable: Mapping[tuple[str, str | None], int], aim: OptimizeRequest
) -> TableHealth:
    branch, table_key = capture.snapshot.branch, drift.pin.table_key
    is_readable = drift.classification is not Classification.BEHIND
    facts = [observe_table(capture, table_key)] if is_readable else []
    if drift.classification is Classification.NO_DRIFT:
        # That was looked at just now, so a HEAD that has moved on since the branch was captured is a writer's.
        facts = [found.at_pin() for found in facts]
    plans = plan_tables(facts, aim)
    versions = stored_versions(capture.context.store.objects, drift.head.address) if drift.head is not None else ()
    has_rows = bool(facts) and facts[0].problem is None
    return TableHealth(
        branch=branch,
        drift=drift,
        plan=plans[0] if plans else None,
        versions=len(versions),
        reclaimable_bytes=reclaimable.get((table_key, None if branch == MAIN_BRANCH else branch), 0),
        pending_vectors=_pending_vectors(capture, table_key) if has_rows else 0,
    )


def _check_ref(capture: Capture, table: TableHealth, damages: DamageLog) -> None:
    """Note a table whose ref is gone: Lance opens its tree all the same, so only the table's own list tells."""
    pin = table.drift.pin
    if pin.ref is None or table.drift.classification is Classification.BEHIND:
        return
    where = f"{pin.location}/_refs/branches/{pin.ref}.json"
    unknown: dict[str, object] = {pin.ref: None}
    refs = damages.attempt(
        lambda: dict[str, object](list_refs(capture.context.store.tables, pin.location)),
        otherwise=unknown,
        part=DamagedPart.TABLE,
        where=pin.location,
        table_key=pin.table_key,
        branch=table.branch,
    )
    if pin.ref not in refs:
        damages.note(
            part=DamagedPart.REF,
            where=where,
            problem=f"the ref {pin.ref} is gone",
            table_key=pin.table_key,
            branch=table.branch,
        )


def _pending_vectors(capture: Capture, table_key: TableKey) -> int:
    """Count rows whose text has no vector yet."""
    entity = capture.catalog.type_by_table_key[table_key]
    table = capture.table(table_key)
    return sum(
        table.count_rows(all_of((Comparison(vector, "=", None), Comparison(source, "!=", None))))
        for vector, source in embedded_columns(entity)
    )


def embedded_columns(entity: EntityType) -> list[tuple[str, str]]:
    """Name the vector columns of a type that are computed from a text, each with that text's column."""
    return [(declared.name, declared.embed.source) for declared in entity.properties if declared.embed]
