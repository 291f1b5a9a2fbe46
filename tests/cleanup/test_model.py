"""Random histories: cleanup never takes a version that a branch, a tag, a lease or a merge still reaches."""

import tempfile
from contextlib import ExitStack, suppress

import lance
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import BranchHasDependents, HistoricalVersionReclaimed
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.report import CleanupReport
from omnigraph.storage.locks import put_reader_lease
from omnigraph.storage.tables import TableAddress
from support import harbor

BRANCHES = ("main", "a", "b")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(BRANCHES)),
        st.tuples(st.just("write"), st.sampled_from(BRANCHES)),
        st.tuples(st.just("create"), st.sampled_from(BRANCHES[1:])),
        st.tuples(st.just("delete"), st.sampled_from(BRANCHES[1:])),
        st.tuples(st.just("merge"), st.sampled_from(BRANCHES[1:])),
        st.tuples(st.just("tag"), st.sampled_from(BRANCHES)),
        st.tuples(st.just("lease"), st.sampled_from(BRANCHES)),
        st.tuples(st.just("optimize"), st.sampled_from(BRANCHES)),
        st.tuples(st.just("clean"), st.integers(1, 4)),
    ),
    min_size=6,
    max_size=16,
)


class History:
    """A graph, and what must be readable from it whatever cleanup does."""

    def __init__(self, uri: str, leases: ExitStack) -> None:
        self.graph = harbor.new_graph(uri)
        self._leases = leases
        self._held: list[tuple[TableAddress, int, int]] = []
        self._tags: dict[str, tuple[str, int]] = {}
        self._counter = 0

    def take(self, verb: str, what: object) -> None:
        if verb == "clean":
            self.clean(int(str(what)))
        elif verb == "create" or what in self.names():
            getattr(self, verb)(what)

    def names(self) -> list[str]:
        return [branch.name for branch in self.graph.branches.list()]

    def write(self, branch: str) -> None:
        self._counter += 1
        with self.graph.write(branch=branch) as batch:
            batch.upsert("Sailor", [{"name": f"{branch}{self._counter}", "rank": "mate", "age": self._counter}])

    def create(self, branch: str) -> None:
        if branch not in self.names():
            # From the newest branch there is, so that branches of branches occur.
            self.graph.branches.create(branch, source=self.names()[-1] if self._counter % 2 else "main")

    def delete(self, branch: str) -> None:
        with suppress(BranchHasDependents):
            self.graph.branches.delete(branch)

    def merge(self, branch: str) -> None:
        self.graph.branches.merge(branch)

    def optimize(self, branch: str) -> None:
        """Make versions that no graph version pins on the way to one that it does."""
        self.graph.optimize(branch=branch)

    def tag(self, branch: str) -> None:
        """Tag the main line only: a ref that a tag names could not go with its branch."""
        pin = next(pin for pin in self.graph.snapshot(branch).tables if pin.type_name == "Sailor")
        if pin.ref is None:
            dataset = lance.dataset(self.graph._context.store.tables.uri(pin.address))
            name = f"t{len(self._tags)}"
            dataset.tags.create(name, pin.version)
            self._tags[name] = (dataset.uri, lance.dataset(dataset.uri, version=pin.version).count_rows())

    def lease(self, branch: str) -> None:
        """Hold the present state of a branch, unless deleting the branch could take its refs away from readers."""
        snapshot = self.graph.snapshot(branch)
        if all(pin.ref is None for pin in snapshot.tables):
            pinned = [pin.state for pin in snapshot.tables]
            self._leases.enter_context(
                put_reader_lease(self.graph._context.store.objects, pinned, operation="a long read")
            )
            pin = next(pin for pin in snapshot.tables if pin.type_name == "Sailor")
            self._held.append((pin.address, pin.version, snapshot.table("Sailor").count_rows()))

    def clean(self, keep: int) -> None:
        content = {name: harbor.content(self.graph, branch=name) for name in self.names()}
        past = {name: self.readable(name) for name in self.names()}
        preview = self.graph.cleanup(CleanupPolicy(keep_versions=keep))
        done = self.graph.cleanup(CleanupPolicy(keep_versions=keep), confirm=True)

        assert done.failed == ()
        assert done.rows == preview.rows
        afresh = omnigraph.open(self.graph.uri)
        assert {name: harbor.content(afresh, branch=name) for name in self.names()} == content
        self.expect_past(done, preview, past, keep)
        for name, (uri, rows) in self._tags.items():
            assert lance.dataset(uri, version=name).count_rows() == rows
        for address, version, rows in self._held:
            assert afresh._context.store.tables.open(address, version).count_rows() == rows
        for name in self.names():
            if name != "main":
                afresh.branches.merge(name, dry_run=True)

    def readable(self, branch: str) -> dict[int, str]:
        """Return every graph version of a branch that can be read as a whole, with its commit."""
        graph = omnigraph.open(self.graph.uri)
        found = {}
        for commit in self.line(graph, branch):
            with suppress(HistoricalVersionReclaimed):
                harbor.content(graph, branch=branch, version=commit.graph_version)
                found[commit.graph_version] = commit.graph_commit_id
        return found

    def line(self, graph: omnigraph.Graph, branch: str) -> list[omnigraph.Commit]:
        context = graph._context
        return list(context.log.first_parents(context.manifest.load(branch).head))

    def expect_past(
        self, done: CleanupReport, preview: CleanupReport, before: dict[str, dict[int, str]], keep: int
    ) -> None:
        """The newest versions are there as far as they were, and the report says exactly what is and what went."""
        assert (done.readable_from, done.commits_lost) == (preview.readable_from, preview.commits_lost)
        lost = set()
        for name in self.names():
            after = self.readable(name)
            head = self.graph.snapshot(name).graph_version
            newest = range(max(1, head - keep + 1), head + 1)
            assert {version for version in newest if version in before[name]} <= after.keys()
            oldest = done.readable_from[name]
            assert oldest is not None
            assert set(range(oldest, head + 1)) <= after.keys()
            assert oldest == 1 or oldest - 1 not in after
            lost |= {commit for version, commit in before[name].items() if version not in after}
        assert set(done.commits_lost) == lost


@settings(max_examples=15)
@given(steps)
def test_cleanup_takes_nothing_that_anybody_still_reaches(history):
    with tempfile.TemporaryDirectory() as directory, ExitStack() as leases:
        graph = History(f"{directory}/graph.omni", leases)
        for verb, what in [*history, ("clean", 1)]:
            graph.take(verb, what)
