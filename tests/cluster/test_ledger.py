"""Finding graphs through the ledger alone, and telling cluster-managed paths by their shape."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph import errors
from omnigraph.base.events import Warned
from omnigraph.cluster.ledger import (
    LEDGER_PATH,
    cluster_graph_ids,
    cluster_root_for_graph_uri,
    cluster_shaped_root,
    read_applied_graphs,
    resolve_graph_storage_uri,
)

CLUSTER_SHAPED = [
    ("/srv/museum/graphs/art.omni", "/srv/museum"),
    ("graphs/art.omni", "/srv/museum"),
    ("../museum/graphs/./art.omni", "/srv/museum"),
    ("file:///srv/museum/graphs/art.omni/", "/srv/museum"),
    ("file:///srv/my%20museum/graphs/art.omni", "/srv/my museum"),
    ("s3://b/clusters/main/graphs/art.omni", "s3://b/clusters/main"),
    ("s3://b/graphs/art.omni", "s3://b"),
    ("s3://b/graphs/graphs/art.omni//", "s3://b/graphs"),
    ("/graphs/art.omni", "/"),
]
NOT_CLUSTER_SHAPED = [
    "s3://graphs/art.omni",
    "./art.omni",
    "s3://b/art.omni",
    "/srv/museum/graphs/eu/art.omni",
    "/srv/museum/graphs/art",
    "/srv/museum/graphs/",
    "/srv/museum/mygraphs/art.omni",
]


@pytest.fixture
def museum(tmp_path: Path) -> Path:
    """A cluster directory with an empty `__cluster`."""
    directory = tmp_path / "museum"
    directory.joinpath("__cluster").mkdir(parents=True)
    return directory


def ledger(*addresses: str, **more: object) -> str:
    resources = {address: {"digest": "00"} for address in addresses}
    return json.dumps({"version": 1, "applied_revision": {"config_digest": None, "resources": resources}, **more})


def write_ledger(root: Path, text: str) -> None:
    root.joinpath(LEDGER_PATH).parent.mkdir(parents=True, exist_ok=True)
    root.joinpath(LEDGER_PATH).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("uri", "root"), CLUSTER_SHAPED)
def test_the_root_is_what_stands_before_the_last_graphs_directory(uri, root, monkeypatch):
    monkeypatch.setattr("os.getcwd", lambda: "/srv/museum")

    assert cluster_shaped_root(uri) == root


@pytest.mark.parametrize("uri", NOT_CLUSTER_SHAPED)
def test_other_paths_have_no_cluster_shape(uri):
    assert cluster_shaped_root(uri) is None


def test_paths_without_the_shape_cause_no_storage_access():
    """Watched from inside a fresh process: no file, directory or socket is opened and no storage code is loaded."""
    script = f"""
import sys
from omnigraph.cluster.ledger import cluster_root_for_graph_uri
touched = []
sys.addaudithook(lambda event, arguments: touched.append(event))
answers = [cluster_root_for_graph_uri(uri) for uri in {NOT_CLUSTER_SHAPED!r}]
forbidden = ("open", "os.listdir", "os.scandir", "socket.", "import")
touched = [event for event in touched if event.startswith(forbidden)]
assert answers == [None] * len(answers), answers
assert not touched, touched
assert not [name for name in sys.modules if name.startswith(("omnigraph.storage", "obstore", "lance"))]
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr


def test_a_shaped_path_is_managed_only_if_its_root_holds_a_ledger(museum):
    uri = f"{museum}/graphs/art.omni"

    assert cluster_root_for_graph_uri(uri) is None
    write_ledger(museum, "whatever it says")
    assert cluster_root_for_graph_uri(uri) == str(museum)


def test_asking_creates_nothing(tmp_path):
    assert cluster_root_for_graph_uri(f"{tmp_path}/nowhere/graphs/art.omni") is None
    assert list(tmp_path.iterdir()) == []


def test_graph_ids_are_sorted_and_other_resources_are_ignored(museum):
    write_ledger(museum, ledger("graph.zoo", "schema.zoo", "graph.archive", "query.zoo.all", "policy.keepers"))

    assert cluster_graph_ids(str(museum)) == ["archive", "zoo"]


def test_a_local_graph_is_a_plain_absolute_path_however_the_cluster_is_spelled(museum, monkeypatch):
    write_ledger(museum, ledger("graph.art"))
    monkeypatch.chdir(museum.parent)
    expected = f"{museum}/graphs/art.omni"

    assert resolve_graph_storage_uri("museum/", "art") == expected
    assert resolve_graph_storage_uri(f"file://{museum}", "art") == expected


def test_what_is_broken_around_the_ledger_does_not_matter(museum):
    write_ledger(museum, ledger("graph.art", new_field=[1], state_revision="nonsense"))
    for name in ("lock.json", "recoveries/01.json", "resources/query/art/x.gq", "approvals/01.json"):
        path = museum / "__cluster" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{", encoding="utf-8")
    museum.joinpath("cluster.yaml").write_text("version: 99\ngraphs: { art: { schema: missing.pg } }\n", "utf-8")

    assert cluster_graph_ids(str(museum)) == ["art"]


def test_only_cluster_yaml_and_the_ledger_are_opened(museum):
    write_ledger(museum, ledger("graph.art"))
    museum.joinpath("cluster.yaml").write_text("version: 1\n", encoding="utf-8")
    script = f"""
import sys
import yaml
from omnigraph.cluster.ledger import read_applied_graphs
import omnigraph.storage.objects, omnigraph.storage.settings, omnigraph.storage.uris
opened = []
sys.addaudithook(lambda event, arguments: event == "open" and opened.append(str(arguments[0])))
read_applied_graphs({str(museum)!r})
print(*[path for path in opened if path.startswith({str(museum)!r})], sep="\\n")
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.split() == [f"{museum}/cluster.yaml", f"{museum}/{LEDGER_PATH}"]


@pytest.mark.parametrize("declared", ["data", "{tmp}/data", "file://{tmp}/data", "../museum/data/"])
def test_the_storage_key_of_a_directory_is_honoured(declared, tmp_path, museum):
    declared = declared.format(tmp=tmp_path)
    root = tmp_path / "data" if str(tmp_path) in declared else museum / "data"
    write_ledger(root, ledger("graph.art"))
    museum.joinpath("cluster.yaml").write_text(f"version: 1\nstorage: {declared}\n", encoding="utf-8")

    assert resolve_graph_storage_uri(str(museum), "art") == f"{root}/graphs/art.omni"


def test_an_unparseable_cluster_yaml_is_a_warning_beside_a_ledger(museum):
    write_ledger(museum, ledger("graph.art"))
    museum.joinpath("cluster.yaml").write_text("graphs: [", encoding="utf-8")
    heard = []

    applied = read_applied_graphs(str(museum), events=heard.append)

    assert applied.graph_ids == ("art",)
    assert [type(event) for event in heard] == [Warned]
    assert "cluster.yaml" in heard[0].message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("graphs: [", "invalid_cluster_yaml"),
        ("- a", "invalid_cluster_yaml"),
        ("storage: ' '", "invalid_storage_root"),
        ("storage: 's3://'", "invalid_storage_root"),
        ("storage: https://host/museum", "invalid_storage_root"),
    ],
)
def test_an_unusable_cluster_yaml_without_a_ledger_is_reported(text, code, museum):
    museum.joinpath("cluster.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(errors.ClusterDiagnostics) as failure:
        read_applied_graphs(str(museum))

    assert [finding["code"] for finding in failure.value.details["diagnostics"]] == [code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "invalid_state_json"),
        ("[]", "invalid_state_json"),
        ("{}", "invalid_state_json"),
        ('{"version": 1}', "invalid_state_json"),
        ('{"version": 1, "applied_revision": {"resources": [1]}}', "invalid_state_json"),
        ('{"version": 2}', "unsupported_state_version"),
    ],
)
def test_a_ledger_that_cannot_be_read_says_why(text, code, museum):
    write_ledger(museum, text)

    with pytest.raises(errors.ClusterDiagnostics) as failure:
        cluster_graph_ids(str(museum))

    assert failure.value.details["diagnostics"][0]["code"] == code
    assert failure.value.exit_code == 1


def test_a_ledger_that_is_no_file_is_unreadable(museum):
    museum.joinpath("__cluster", "state.json").mkdir(parents=True)

    with pytest.raises(errors.ClusterDiagnostics, match=r"cannot be read.*cluster import") as failure:
        cluster_graph_ids(str(museum))

    assert failure.value.details["diagnostics"][0]["code"] == "state_read_error"


def test_the_home_of_an_unknown_user_is_a_path_like_any(museum):
    with pytest.raises(errors.ClusterStateMissing, match="~nobody-of-that-name/x"):
        cluster_graph_ids("~nobody-of-that-name/x")


def test_no_ledger_points_to_cluster_apply(museum):
    with pytest.raises(errors.ClusterStateMissing, match=r"no applied state.*cluster apply"):
        cluster_graph_ids(str(museum))


def test_a_graph_that_is_not_applied_lists_the_ones_that_are(museum):
    write_ledger(museum, ledger("graph.artworks", "graph.archive"))

    with pytest.raises(errors.GraphNotApplied) as failure:
        resolve_graph_storage_uri(str(museum), "artworkz")

    for words in ("`artworkz`", "is not applied in cluster", "[archive, artworks]", "cluster.yaml", "cluster apply"):
        assert words in failure.value.message
    assert failure.value.details == {"graph_id": "artworkz", "applied": ["archive", "artworks"]}


@pytest.mark.s3
def test_a_cluster_on_an_object_store_resolves_to_uris(s3_root, museum):
    from omnigraph.storage.objects import open_objects
    from omnigraph.storage.settings import StoreSettings
    from omnigraph.storage.uris import GraphRoot

    root = s3_root.rpartition("/")[0]
    parsed = GraphRoot.parse(root)
    store = open_objects(parsed, StoreSettings.resolve(parsed, None, os.environ))
    assert cluster_root_for_graph_uri(f"{root}/graphs/art.omni") is None
    store.put(LEDGER_PATH, ledger("graph.art").encode())
    museum.joinpath("cluster.yaml").write_text(f"version: 1\nstorage: {root}/\n", encoding="utf-8")

    assert resolve_graph_storage_uri(str(museum), "art") == f"{root}/graphs/art.omni"
    assert cluster_root_for_graph_uri(f"{root}/graphs/new.omni") == root
