"""Direct writes to a graph of a cluster are judged by the policy that was applied to it, by every door."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base.events import Event, Warned
from omnigraph.cluster.ledger import LEDGER_PATH
from omnigraph.cluster.resources import file_digest, policy_address
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import AppliedResource, Ledger
from omnigraph.errors import ClusterDiagnostics, GraphNotApplied, PolicyDenied, PolicyInvalid, PolicyUnavailable
from support.keepers import KEEPERS, SERVER_POLICY, apply_policies
from support.program import POLICY, SCHEMA

GRAPH = "graphs/artworks.omni"
INSERT = 'query q() { insert Artist { name: "Mia" } }'
BLOB = f"resources/policy/keepers/{file_digest(POLICY.encode())}.yaml"


def make_graph(root: str) -> str:
    uri = f"{root}/{GRAPH}"
    omnigraph.init(uri, SCHEMA).branches.create("draft")
    return uri


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster on this machine; tests that write to its graph write to `draft`."""
    root = tmp_path_factory.mktemp("museum")
    make_graph(str(root))
    return root


@pytest.fixture
def judged(museum: Path) -> Path:
    """The same with its policy as it was applied, whatever a test before did to it."""
    museum.joinpath("__cluster", BLOB).unlink(missing_ok=True)
    museum.joinpath(LEDGER_PATH).unlink(missing_ok=True)
    apply_policies(str(museum))
    return museum


def write(root: str | Path, actor: str | None, *, branch: str = "draft") -> tuple[str | None, list[str]]:
    """Write through a new handle; return the actor that the commit has, and the warnings."""
    told: list[Event] = []
    graph = omnigraph.open(f"{root}/{GRAPH}", events=told.append)
    query = f'query q() {{ insert Artist {{ name: "{omnigraph_name(graph)}" }} }}'
    commit = graph.mutate(query, branch=branch, actor=actor).commit
    assert commit is not None
    return commit.actor_id, [event.message for event in told if isinstance(event, Warned)]


def omnigraph_name(graph: omnigraph.Graph) -> str:
    return f"artist {graph.snapshot('draft').table('Artist').count_rows()}"


def test_the_policy_decides_for_a_known_actor_and_the_commit_has_that_actor(judged):
    assert write(judged, "act-lee") == ("act-lee", [])
    for actor, branch, named in (
        ("act-lee", "main", "on branch 'main' for actor 'act-lee'"),
        ("act-ines", "draft", "on branch 'draft' for actor 'act-ines'"),
        ("act-zoe", "draft", "unknown actor 'act-zoe'"),
    ):
        with pytest.raises(PolicyDenied, match=named) as refusal:
            write(judged, actor, branch=branch)
        assert (refusal.value.exit_code, refusal.value.effect) == (6, "none")


def test_nobody_writes_on_this_machine_with_one_warning_that_names_the_policy(judged):
    actor, warnings = write(judged, None)

    assert actor is None
    assert len(warnings) == 1
    assert all(words in warnings[0] for words in ("'keepers'", "--as", "operator.actor"))


def test_a_handle_warns_once_however_often_it_writes(judged):
    told: list[Event] = []
    graph = omnigraph.open(f"{judged}/{GRAPH}", events=told.append)
    for name in ("Uma", "Ugo"):
        graph.mutate(f'query q() {{ insert Artist {{ name: "{name}" }} }}', branch="draft")

    assert sum(isinstance(event, Warned) for event in told) == 1


@pytest.mark.s3
def test_nobody_writes_on_shared_storage_where_a_policy_is_bound(s3_root):
    root = f"{s3_root}/museum"
    uri = make_graph(root)
    apply_policies(root)

    with pytest.raises(PolicyDenied, match=r"denied.*no actor.*--as.*operator\.actor") as refusal:
        omnigraph.open(uri).mutate(INSERT, branch="draft")

    assert refusal.value.exit_code == 6
    assert write(root, "act-lee")[0] == "act-lee"
    with pytest.raises(PolicyDenied):
        write(root, "act-ines")
    apply_policies(root, {})
    assert write(root, None) == (None, [])


def drop_blob(root: Path) -> None:
    root.joinpath("__cluster", BLOB).unlink()


def alter_blob(root: Path) -> None:
    root.joinpath("__cluster", BLOB).write_text(POLICY.replace("[main]", "[]"), encoding="utf-8")


def change_entry(root: Path, **members: object) -> None:
    path = root / LEDGER_PATH
    ledger = json.loads(path.read_text())
    entry = ledger["applied_revision"]["resources"]["policy.keepers"]
    ledger["applied_revision"]["resources"]["policy.keepers"] = {
        name: value for name, value in {**entry, **members}.items() if value is not None
    }
    path.write_text(json.dumps(ledger), encoding="utf-8")


def bind_twice(root: Path) -> None:
    apply_policies(str(root), {**KEEPERS, "others": (POLICY, ("graph.artworks",))})


UNUSABLE: dict[str, tuple[Callable[[Path], object], type[Exception], tuple[str, ...]]] = {
    "missing": (drop_blob, PolicyUnavailable, ("'keepers'", "missing", "cluster refresh", "cluster apply")),
    "altered": (alter_blob, PolicyUnavailable, ("'keepers'", "altered", "cluster refresh", "cluster apply")),
    "lost": (lambda root: change_entry(root, digest=None), PolicyUnavailable, ("'keepers'", "lost", "cluster apply")),
    "unbound": (lambda root: change_entry(root, applies_to=None), PolicyUnavailable, ("'keepers'", "cluster apply")),
    "two": (bind_twice, PolicyUnavailable, ("keepers and others", "artworks", "cluster apply")),
    "of-a-server": (
        lambda root: apply_policies(str(root), {"front": (SERVER_POLICY, ("graph.artworks",))}),
        PolicyInvalid,
        ("'front'", "server"),
    ),
    "broken-ledger": (lambda root: root.joinpath(LEDGER_PATH).write_text("{"), ClusterDiagnostics, ("state.json",)),
}


@pytest.mark.parametrize("state", UNUSABLE)
def test_a_policy_that_cannot_judge_refuses_whoever_has_a_name(state, judged):
    spoil, kind, words = UNUSABLE[state]
    spoil(judged)

    with pytest.raises(kind) as refusal:
        write(judged, "act-lee")

    assert [word for word in words if word not in str(refusal.value)] == []
    assert refusal.value.exit_code == 1


@pytest.mark.parametrize("state", ["missing", "altered", "lost", "unbound"])
def test_a_lost_policy_leaves_the_anonymous_case_as_it_is(state, judged):
    UNUSABLE[state][0](judged)

    assert write(judged, None)[0] is None


NO_POLICY: dict[str, Callable[[Path], object]] = {
    "no ledger": lambda root: root.joinpath(LEDGER_PATH).unlink(),
    "nothing bound": lambda root: apply_policies(str(root), {}),
    "bound to another": lambda root: apply_policies(
        str(root), {"keepers": (POLICY, ("graph.archive",))}, ("artworks", "archive")
    ),
    "only the server's": lambda root: apply_policies(str(root), {"front": (SERVER_POLICY, ("cluster",))}),
    "fields of a newer version": lambda root: (
        apply_policies(str(root), {}),
        root.joinpath(LEDGER_PATH).write_text(
            json.dumps({**json.loads(root.joinpath(LEDGER_PATH).read_text()), "future": 1})
        ),
    ),
}


@pytest.mark.parametrize("state", NO_POLICY)
@pytest.mark.parametrize("actor", [None, "act-zoe"])
def test_without_a_bound_policy_everybody_writes(state, actor, judged):
    NO_POLICY[state](judged)

    assert write(judged, actor) == (actor, [])


def test_reading_and_maintenance_never_look_for_a_policy(judged):
    for path in (judged / "__cluster").rglob("*"):
        if path.is_file():
            path.write_text("{", encoding="utf-8")
    graph = omnigraph.open(f"{judged}/{GRAPH}")

    graph.snapshot().table("Artist").to_arrow()
    graph.optimize()
    graph.repair(confirm=True)
    graph.cleanup(keep=10, confirm=True)
    graph.recover()
    assert graph.health().findings is not None


def test_a_policy_that_was_given_is_the_one_that_judges(judged):
    alter_blob(judged)
    own = omnigraph.PolicyEngine.from_source(POLICY.replace("act-lee", "act-own"), "artworks")
    graph = omnigraph.open(f"{judged}/{GRAPH}", policy=own)

    assert graph.mutate('query q() { insert Artist { name: "Own" } }', branch="draft", actor="act-own").commit
    with pytest.raises(PolicyDenied):
        graph.mutate(INSERT, branch="draft", actor="act-lee")


def test_a_graph_opened_through_its_cluster_has_the_policy_and_asks_even_nobody(judged):
    graph = omnigraph.open_cluster_graph(str(judged), "artworks")

    for actor in (None, " ", "act-ines"):
        with pytest.raises(PolicyDenied):
            graph.mutate(INSERT, branch="draft", actor=actor)
    commit = graph.mutate('query q() { insert Artist { name: "Via" } }', branch="draft", actor="act-lee").commit
    assert commit is not None
    assert commit.actor_id == "act-lee"
    with pytest.raises(GraphNotApplied, match="artworks"):
        omnigraph.open_cluster_graph(str(judged), "artworkz")
    drop_blob(judged)
    with pytest.raises(PolicyUnavailable):
        omnigraph.open_cluster_graph(str(judged), "artworks")
    assert omnigraph.open_cluster_graph(str(judged), "artworks", read_only=True).snapshot("main")


def test_the_ledger_and_the_policy_are_read_once_per_handle_and_only_for_a_write(judged, monkeypatch):
    read: list[str] = []
    whole = ClusterSite.open

    def counted(root: str, **options: object) -> ClusterSite:
        site = whole(root, **options)
        look = site.objects.read
        object.__setattr__(site, "objects", Counted(site.objects, lambda path: (read.append(path), look(path))[1]))
        return site

    monkeypatch.setattr(ClusterSite, "open", counted)
    graph = omnigraph.open(f"{judged}/{GRAPH}")
    assert read == []
    for name in ("Ada", "Bea"):
        graph.mutate(f'query q() {{ insert Artist {{ name: "{name}" }} }}', branch="draft", actor="act-lee")

    assert read == ["state.json", BLOB]


class Counted:
    """A store whose reads are told."""

    def __init__(self, store: object, read: Callable[[str], object]) -> None:
        self._store = store
        self.read = read

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def test_a_ledger_can_say_that_the_text_of_a_policy_was_lost(judged):
    """Who is bound is still known then, so that nothing falls open."""
    site = ClusterSite.open(str(judged))
    lost = AppliedResource(digest=None, applies_to=("graph.artworks",))
    site.write_ledger(Ledger(resources={policy_address("keepers"): lost}), over=site.read_ledger())

    with pytest.raises(PolicyUnavailable, match="lost"):
        write(judged, "act-lee")
