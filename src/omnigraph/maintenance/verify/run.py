"""verify in one call: what every readable graph version needs is there, is what it was, and agrees with itself.

It takes no lock and writes nothing. Everything it needs to know of the past stands in the rows of `__manifest`.
"""

from collections.abc import Iterable, Mapping, Sequence

from omnigraph.base import clock, ids
from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.engine.choice import EngineChoice, Work
from omnigraph.engine.interface import Engine
from omnigraph.engine.opening import open_engine
from omnigraph.errors import BranchNotFound, GraphNotFound, GraphTooNew, InvalidTarget, OmniError, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.verify.contents import compare_bytes, files_to_read, read_contents
from omnigraph.maintenance.verify.files import FilesToVerify, look_at_table, told_with_what_is_left
from omnigraph.maintenance.verify.lineage import log_problems
from omnigraph.maintenance.verify.pins import PinnedVersions, gather_pins
from omnigraph.maintenance.verify.report import Problem, ProblemKind, VerifyReport
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.snapshot import TablePin, branch_of
from omnigraph.manifest.state import ManifestState
from omnigraph.records.offences import Offences
from omnigraph.storage.file_references import lost_files
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.worker_files import shared_with_workers
from omnigraph.writes.constraints.broken import broken_constraints

_SAMPLES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """One run, whoever asks for it."""

    deep: bool = False
    """Whether every byte is read."""
    branch: str | None = None
    all_branches: bool = False
    engine: EngineChoice = EngineChoice()

    def branches(self, context: GraphContext) -> list[str]:
        """Return the branches to look at, by default only `main`."""
        if self.branch is not None and self.all_branches:
            raise InvalidTarget("branch names one branch and all_branches means all of them; choose one.")
        return [MAIN_BRANCH, *context.manifest.branch_names()] if self.all_branches else [self.branch or MAIN_BRANCH]


def run_verify(context: GraphContext, request: VerifyRequest, *, events: Events) -> VerifyReport:
    """Verify some branches of a graph; raise only when there is none, or the store does not answer."""
    branches = request.branches(context)
    return _Run(context, deep=request.deep, choice=request.engine, events=events).report(branches)


class _Run:
    def __init__(self, context: GraphContext, *, deep: bool, choice: EngineChoice, events: Events) -> None:
        self._context = context
        self._deep = deep
        self._choice = choice
        self._events = events
        self._problems: list[Problem] = []
        self._bytes_read = 0
        self._rows_read = 0
        self._unchecked = 0
        self._engine_name = "local"

    def report(self, branches: Sequence[str]) -> VerifyReport:
        started = clock.monotonic_seconds()
        states = self._states(branches)
        pins = gather_pins(states)
        tables = self._look_at_tables(pins)
        self._look_at_internal_tables(states)
        self._problems += log_problems(self._context.log, states)
        engine = self._engine(tables)
        operation_id = ids.new_ulid()
        with shared_with_workers(self._context.store, operation_id):
            if self._deep:
                self._bytes_read, self._unchecked = compare_bytes(
                    engine, self._context.store.uri, operation_id, tables, self._events
                )
            self._look_inside(states, tables, engine, operation_id)
        sizes = {path: size for seen in tables for path, size in seen.present.items() if path in seen.needed}
        return VerifyReport(
            uri=self._context.store.uri,
            deep=self._deep,
            branches=tuple(state.branch.name for state in states),
            graph_versions=sum(pins.graph_versions.values()),
            tables=len(tables),
            versions=sum(len(seen.facts) for seen in tables),
            versions_reclaimed=sum(seen.reclaimed for seen in tables),
            files=len(sizes),
            bytes=sum(sizes.values()),
            bytes_read=self._bytes_read,
            rows_read=self._rows_read,
            files_without_checksum=self._unchecked,
            engine=self._engine_name,
            duration_ms=round((clock.monotonic_seconds() - started) * 1_000),
            problems=(*self._problems, *(problem for seen in tables for problem in told_with_what_is_left(seen))),
        )

    def _states(self, branches: Sequence[str]) -> list[ManifestState]:
        states = []
        for name in branches:
            try:
                state = self._context.manifest.load(name)
                state.snapshot.check_against(self._context.schemas.catalog(state.snapshot.schema))
                states.append(state)
            except OmniError as error:
                if isinstance(error, GraphNotFound | BranchNotFound | GraphTooNew):
                    raise
                _refuse_transient(error)
                self._note(ProblemKind.BRANCH_UNREADABLE, f"branch {name} cannot be read: {error.message}", branch=name)
        return states

    def _look_at_tables(self, pins: PinnedVersions) -> list[FilesToVerify]:
        objects, uri = self._context.store.objects, self._context.store.uri
        with phase(self._events, "checking versions", total=len(pins.versions), unit="versions") as watch:
            return [
                look_at_table(objects, pinned, pins.checksums.get(location, {}), uri, watch)
                for location, pinned in pins.by_location().items()
            ]

    def _look_at_internal_tables(self, states: Iterable[ManifestState]) -> None:
        addresses = dict.fromkeys([*(state.branch.manifest for state in states), COMMITS, ACTORS])
        for address in addresses:
            try:
                head = self._context.store.tables.head(address)
            except OmniError as error:
                _refuse_transient(error)
                self._note(ProblemKind.TABLE_UNREADABLE, f"{address.path} cannot be read: {error.message}", address)
                continue
            if head is None:
                continue
            objects = self._context.store.objects
            present = objects.sizes(f"{address.location}/")
            for file in lost_files(objects, address, [int(head.version)], present):
                self._note(ProblemKind.FILE_LOST, f"{file.kind} {file}", address, file=file.path)

    def _note(
        self,
        kind: ProblemKind,
        message: str,
        address: TableAddress | None = None,
        *,
        file: str | None = None,
        branch: str | None = None,
    ) -> None:
        where = None if address is None else address.location
        restore = f"restore {address.path} from a backup" if address is not None else None
        self._problems.append(
            Problem(
                kind=kind,
                message=message,
                remedy=restore,
                table_key=where,
                file=file,
                branch=branch
                or (address.ref if address is not None and address.location == MANIFEST.location else None),
            )
        )

    def _engine(self, tables: Sequence[FilesToVerify]) -> Engine:
        if not self._deep:
            return self._context.engine
        size = sum(file.size for seen in tables for file in files_to_read(seen))
        engine, _ = open_engine(
            self._choice,
            Work.VERIFY,
            size,
            local=self._context.engine,
            worker_environment=self._context.store.settings.environment,
            events=self._events,
        )
        self._engine_name = engine.name
        return engine

    def _look_inside(
        self, states: Sequence[ManifestState], tables: Sequence[FilesToVerify], engine: Engine, operation_id: str
    ) -> None:
        """Open what the heads of the branches show; look for doubled keys, dangling edges and, deep, all the rest."""
        harmed = {
            (seen.versions[place].address, seen.versions[place].pin.version) for seen in tables for place in seen.harmed
        }
        known: set[tuple[TableAddress, int]] = set()
        for state in states:
            opened = self._open(state, harmed)
            new = {key: found for key, found in opened.items() if (found[0].address, found[0].version) not in known}
            known.update((pin.address, pin.version) for pin, _ in opened.values())
            if self._deep:
                remedy = f"omnigraph optimize {self._context.store.uri}"
                rows, problems = read_contents(
                    engine, self._context.store.uri, operation_id, list(new.values()), remedy, self._events
                )
                self._rows_read += rows
                self._problems += problems
            self._check_rules(state, opened, new, engine)

    def _open(
        self, state: ManifestState, harmed: set[tuple[TableAddress, int]]
    ) -> dict[TableKey, tuple[TablePin, Table]]:
        opened = {}
        for key, pin in state.snapshot.pins.items():
            if (pin.address, pin.version) in harmed:
                continue
            try:
                opened[key] = (pin, pin.state.open(self._context.store.tables))
            except OmniError as error:
                _refuse_transient(error)
                self._note(ProblemKind.TABLE_UNREADABLE, f"{key} cannot be opened: {error.message}", pin.address)
        return opened

    def _check_rules(
        self,
        state: ManifestState,
        opened: Mapping[TableKey, tuple[TablePin, Table]],
        asked: Mapping[TableKey, object],
        engine: Engine,
    ) -> None:
        catalog = self._context.schemas.catalog(state.snapshot.schema)
        total = sum(opened[key][0].row_count for key in asked) * (2 if self._deep else 1)
        with phase(self._events, "checking rules", total=total, unit="rows") as watch:
            found = broken_constraints(
                self._context,
                catalog,
                {key: table for key, (_, table) in opened.items()},
                tables=list(asked),
                with_values=self._deep,
                engine=engine,
                watch=watch.reach,
            )
        for key, findings in found.broken.items():
            self._problems.append(_broken(state, key, findings))
        for key, reason in found.unchecked.items():
            # A table that was told of as damaged takes its neighbours along; anything else is news.
            if key in opened and not set(state.snapshot.pins) - set(opened):
                pin = state.snapshot.pins[key]
                self._note(ProblemKind.TABLE_UNREADABLE, f"the rules of {key} cannot be checked: {reason}", pin.address)


def _broken(state: ManifestState, key: TableKey, findings: Offences) -> Problem:
    pin = state.snapshot.pins[key]
    samples = "; ".join(finding.message for finding in findings.first[:_SAMPLES_SHOWN])
    more = f" and {findings.total - _SAMPLES_SHOWN} more" if findings.total > _SAMPLES_SHOWN else ""
    return Problem(
        kind=ProblemKind.CONSTRAINT_BROKEN,
        message=f"{samples}{more}",
        table_key=key,
        branch=None if pin.ref is None else branch_of(pin.ref),
        versions=(pin.version,),
    )


def _refuse_transient(error: OmniError) -> None:
    """Raise a failure that says nothing about the graph: a store that does not answer is not a damaged graph."""
    if isinstance(error, StorageError) and error.is_transient:
        raise error
