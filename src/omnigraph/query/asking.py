"""From the text of a read and a snapshot to its rows: parse, check and plan once, then run.

A plan depends on the text and on the schema; the sizes of tables when it was made decide how fast it is. So plans are
kept by text, for as long as the schema is the same.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from omnigraph.base.clock import now_ms
from omnigraph.base.values import dataclass
from omnigraph.errors import InvalidTarget
from omnigraph.graphs.given import values_together
from omnigraph.graphs.result import Result
from omnigraph.query.caches import CacheFacts
from omnigraph.query.check import check_query
from omnigraph.query.choosing import choose_query
from omnigraph.query.columns import result_schema
from omnigraph.query.parameters import bind_parameters
from omnigraph.query.plan.explain import Explanation, explain
from omnigraph.query.plan.planner import plan_read
from omnigraph.query.plan.points import is_point_read
from omnigraph.query.plan.steps import Plan
from omnigraph.query.typed import CheckedRead
from omnigraph.query.ways.choice import READY, Ways

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.access import GraphAccess
    from omnigraph.query.answering import Answering
    from omnigraph.query.run.trace import Trace
    from omnigraph.query.sql.statement import Asked

_PLANS_MAX = 512
_ACCESSES_MAX = 4


@dataclass(slots=True, kw_only=True)
class PlannedRead:
    """A read that can be run against every snapshot of one schema."""

    plan: Plan
    schema: "pa.Schema"
    catalog: "Catalog"
    is_point: bool
    """Whether it touches little, whatever its parameters are."""
    answering: "Answering | None" = None
    """What runs it, made by the first run: numpy is for who asks, not for who checks."""


class Asking:
    """Answers reads about the snapshots of one graph."""

    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[str, str | None], PlannedRead] = OrderedDict()
        self._accesses: OrderedDict[str, GraphAccess] = OrderedDict()
        self._ways = Ways()
        self._lock = Lock()
        self._plan_counts = [0, 0]
        self._access_counts = [0, 0]
        """How often something was kept, and how often it was not; threads that count at once may lose one."""

    def caches(self) -> list[CacheFacts]:
        """Tell how often plans and snapshots were found."""
        kept: tuple[tuple[str, list[int], int], ...] = (
            ("plan", self._plan_counts, len(self._plans)),
            ("snapshot", self._access_counts, len(self._accesses)),
        )
        return [CacheFacts(name=name, hits=hits, misses=misses, entries=size) for name, (hits, misses), size in kept]

    def query(
        self,
        snapshot: "Snapshot",
        text: str,
        name: str | None,
        values: Mapping[str, object],
        *,
        source: str = "<query>",
        is_plain: bool = False,
    ) -> Result:
        """Run one read; see `Answering.answer` for `is_plain`."""
        try:
            planned = self._plans.get((text, name))
        except TypeError:  # no text at all; who checks it says so
            planned = None
        access = self._accesses.get(snapshot.commit_id)
        if planned is None or access is None or planned.answering is None or planned.catalog is not snapshot.catalog:
            return self._run(snapshot, self.planned(snapshot, text, name, source=source), values)
        # As `_run` does it, when all is known.
        self._plan_counts[0] += 1
        self._access_counts[0] += 1
        return planned.answering.answer(snapshot, access, values, self._ways, is_plain=is_plain)

    def query_briefly(
        self, snapshot: "Snapshot", text: str, name: str | None, values: Mapping[str, object]
    ) -> Result | None:
        """Run a read that is at hand; None if it reaches much with these values, or is at hand no longer."""
        planned = self._plans.get((text, name))
        access = self._accesses.get(snapshot.commit_id)
        if planned is None or planned.answering is None or access is None:
            return None
        self._plan_counts[0] += 1
        self._access_counts[0] += 1
        return planned.answering.answer_briefly(snapshot, access, values, self._ways)

    def is_at_hand(self, snapshot: "Snapshot", text: str, name: str | None) -> bool:
        """Whether a read touches little by its shape, and everything that it needs is in memory."""
        planned = self._plans.get((text, name))
        return (
            planned is not None
            and planned.is_point
            and planned.answering is not None
            and planned.catalog is snapshot.catalog
            and snapshot.commit_id in self._accesses
            and self._ways.is_ready(snapshot, planned.plan)
        )

    def explain(
        self,
        snapshot: "Snapshot",
        text: str,
        name: str | None,
        values: Mapping[str, object],
        *,
        is_run: bool,
        source: str = "<query>",
    ) -> Explanation:
        """Describe how a read is answered; if it is run, with what each step did. Without a run it needs no values."""
        planned = self.planned(snapshot, text, name, source=source)
        query_name = planned.plan.read.name
        from omnigraph.query.ways.reads import reads_of

        if not is_run:
            way = self._ways.choose(snapshot, planned.plan)
            return Explanation(
                query_name=query_name,
                steps=explain(planned.plan, {}),
                way=way,
                reads=reads_of(planned.plan, way),
            )
        from omnigraph.query.run.trace import Trace

        trace = Trace()
        with trace.timing("all"):
            rows = len(self._run(snapshot, planned, values, trace=trace))
        way = trace.way or READY
        return Explanation(
            query_name=query_name,
            steps=explain(planned.plan, trace.facts),
            way=way,
            reads=reads_of(planned.plan, way),
            rows=rows,
            seconds=trace.facts["all"].seconds,
        )

    def _run(
        self, snapshot: "Snapshot", planned: PlannedRead, values: Mapping[str, object], trace: "Trace | None" = None
    ) -> "Result":
        answering = planned.answering
        if answering is None:
            from omnigraph.query.answering import Answering

            answering = planned.answering = Answering(planned.plan, planned.schema, planned.catalog)
        return answering.answer(snapshot, self.access(snapshot), values, self._ways, trace)

    def asked(
        self,
        snapshot: "Snapshot",
        text: str,
        name: str | None,
        values: Mapping[str, object],
        *,
        source: str = "<query>",
    ) -> "Asked":
        """Check a read and its values, for an engine that takes it as a whole."""
        from omnigraph.query.sql.statement import Asked

        read = self.planned(snapshot, text, name, source=source).plan.read
        return Asked(read=read, parameters=bind_parameters(read, values), now_ms=now_ms())

    def prepare(self, snapshot: "Snapshot", text: str, name: str | None) -> "Prepared":
        """Check a read, to run it over one snapshot with different values."""
        return Prepared(self, lambda: snapshot, text, name)

    def planned(self, snapshot: "Snapshot", text: str, name: str | None, *, source: str = "<query>") -> PlannedRead:
        """Parse, check and plan a read, or find that it has been done."""
        if not isinstance(text, str):
            raise InvalidTarget(f"A query is a text such as 'match {{ … }} return {{ … }}', not {text!r}.")
        if name is not None and not isinstance(name, str):
            raise InvalidTarget(f"The name of a query is a text such as 'by_artist', not {name!r}.")
        found = self._plans.get((text, name))
        if found is not None and found.catalog is snapshot.catalog:
            self._plan_counts[0] += 1
            return found
        self._plan_counts[1] += 1
        chosen = choose_query(text, name=name, verb="query", source=source)
        read = check_query(chosen.syntax, snapshot.catalog, source=chosen.source)
        assert isinstance(read, CheckedRead)
        counts = {pin.table_key: pin.row_count for pin in snapshot.tables}

        def count(entity: "EntityType") -> int:
            return counts[entity.table_key]

        plan = plan_read(read, count)
        planned = PlannedRead(
            plan=plan, schema=result_schema(read), catalog=snapshot.catalog, is_point=is_point_read(plan)
        )
        with self._lock:
            self._plans[text, name] = planned
            self._plans.move_to_end((text, name))
            while len(self._plans) > _PLANS_MAX:
                self._plans.popitem(last=False)
        return planned

    def access(self, snapshot: "Snapshot") -> "GraphAccess":
        """Return how a snapshot is read; what was read for one query serves the next."""
        found = self._accesses.get(snapshot.commit_id)
        if found is not None:
            self._access_counts[0] += 1
            return found
        with self._lock:
            found = self._accesses.get(snapshot.commit_id)
            if found is None:
                from omnigraph.query.opening import open_image

                self._access_counts[1] += 1
                found = self._accesses[snapshot.commit_id] = open_image(snapshot)
                while len(self._accesses) > _ACCESSES_MAX:
                    self._accesses.popitem(last=False)
            return found


class Prepared:
    """A read that has been checked; run it as often as you like, with other values each time."""

    def __init__(self, asking: Asking, snapshot: "Callable[[], Snapshot]", text: str, name: str | None) -> None:
        self._asking = asking
        self._snapshot = snapshot
        self._text = text
        self._name = name
        self._read = asking.planned(snapshot(), text, name).plan.read

    def __repr__(self) -> str:
        parameters = ", ".join(f"${parameter.name}: {parameter.type}" for parameter in self._read.parameters)
        return f"<Prepared {self._read.name}({parameters})>"

    @property
    def name(self) -> str:
        """What the query is called."""
        return self._read.name

    def run(self, params: Mapping[str, object] | None = None, /, **values: object) -> Result:
        """Run the query; parameters come by name, or as one mapping."""
        return self._asking.query(self._snapshot(), self._text, self._name, values_together(params, values))
