"""Starting: what is needed, what is refused, which graphs are kept out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.cluster.serving import ServingCode, read_serving_snapshot
from omnigraph.errors import BootRefused
from omnigraph.server.boot import prepare
from omnigraph.server.settings import Bind, Limits, ServeRequest, is_true
from omnigraph.server.states import RuntimeState, decide_state
from omnigraph.server.tokens import load_tokens
from support.served import POLICY, SERVER_POLICY, Declared, Lines, make_cluster, served_app

LOOPBACK = Bind(host="127.0.0.1", port=8080)
ANYWHERE = Bind(host="0.0.0.0", port=8080)


def start(*arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_")}
    return subprocess.run(
        [sys.executable, "-m", "omnigraph.cli.server_main", *arguments],
        env={**clean, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_cluster_the_exit_code_is_2() -> None:
    done = start()

    assert (done.returncode, done.stdout) == (2, "")
    assert "--cluster" in done.stderr


def test_two_actors_with_one_token_are_refused_and_the_token_is_not_shown(plain_template: Path) -> None:
    tokens = '{"a":"the-secret-token","b":"the-secret-token"}'

    done = start("--cluster", str(plain_template), environ={"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": tokens})

    assert (done.returncode, done.stdout) == (1, "")
    assert "'a' and 'b'" in done.stderr
    assert "the-secret-token" not in done.stderr


@pytest.mark.parametrize(
    ("has_tokens", "has_bundles", "unauthenticated", "bind", "expected"),
    [
        (False, False, False, LOOPBACK, "--unauthenticated"),
        (False, False, True, ANYWHERE, RuntimeState.OPEN),
        (True, False, False, LOOPBACK, RuntimeState.DEFAULT_DENY),
        (True, False, True, LOOPBACK, RuntimeState.DEFAULT_DENY),
        (True, True, False, ANYWHERE, RuntimeState.POLICY),
        (True, True, True, ANYWHERE, RuntimeState.POLICY),
        (False, True, False, LOOPBACK, "policy needs tokens"),
        (False, True, True, LOOPBACK, RuntimeState.OPEN),
        (False, True, True, Bind(host="localhost", port=1), RuntimeState.OPEN),
        (False, True, True, Bind(host="::1", port=1), RuntimeState.OPEN),
        (False, True, True, ANYWHERE, "0.0.0.0"),
    ],
)
def test_the_states(has_tokens: bool, has_bundles: bool, unauthenticated: bool, bind: Bind, expected: object) -> None:
    facts = {"has_tokens": has_tokens, "has_bundles": has_bundles, "unauthenticated": unauthenticated, "bind": bind}

    if isinstance(expected, RuntimeState):
        assert decide_state(**facts) is expected
    else:
        with pytest.raises(BootRefused, match=str(expected)):
            decide_state(**facts)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '"token"',
        "{",
        '{"a": 1}',
        '{"a": null}',
        '{"a": {"b": "c"}}',
        '{"": "t"}',
        '{"a": " "}',
        '{"a": "s3cret", "a": "s3cret2"}',
        '{"a": "s3cret", " a ": "s3cret2"}',
        '{"a": "s3cret", "b": " s3cret"}',
        '{"omnigraph:x": "s3cret"}',
    ],
)
def test_tokens_that_are_none(text: str) -> None:
    with pytest.raises(BootRefused) as refused:
        load_tokens({"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": text})

    assert "s3cret" not in str(refused.value)


def test_a_file_beats_the_variable_and_one_token_comes_on_top(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('{" act-a ": " first "}')

    found = load_tokens(
        {
            "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(path),
            "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"act-b": "second"}',
            "OMNIGRAPH_SERVER_BEARER_TOKEN": "third",
        }
    )

    assert found.actor_of(b"Bearer first") == "act-a"
    assert found.actor_of(b"bearer third") == "default"
    assert len(found.digests) == 2
    assert b"first" not in repr(found).encode()


def test_a_file_of_tokens_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BootRefused, match="OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"):
        load_tokens({"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(tmp_path / "none.json")})


def test_numeric_variables_that_are_none_are_told_of_and_left_out() -> None:
    said: list[str] = []

    limits = Limits.from_environ(
        {"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "many", "OMNIGRAPH_EXPORT_STREAMS_MAX": "3"}, cores=2, warn=said.append
    )

    assert (limits.writes_per_actor, limits.export_streams) == (16, 3)
    assert len(said) == 1
    assert "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX" in said[0]


def test_boolean_variables_are_true_unless_they_say_no() -> None:
    assert [is_true(text) for text in ("", "0", "false", "FALSE", "1", "yes", "no")] == [
        *(False, False, False, False),
        *(True, True, True),
    ]


def state_of(root: str) -> dict[str, object]:
    return json.loads(Path(root, "__cluster/state.json").read_text())


def edited(root: str, change) -> str:
    document = state_of(root)
    change(document["applied_revision"]["resources"], document)
    Path(root, "__cluster/state.json").write_text(json.dumps(document))
    return root


def sidecar(root: str, content: object) -> str:
    path = Path(root, "__cluster/recoveries/01M7P07KDHS9Y0V8EXM24MKAPA.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def blobs(root: str, kind: str) -> list[Path]:
    return sorted(path for path in Path(root, "__cluster/resources", kind).rglob("*") if path.is_file())


def altered(root: str) -> str:
    blobs(root, "query")[0].write_text("query other() { match { $a: Artist } return { $a.name } }")
    return root


def lost(root: str) -> str:
    blobs(root, "policy")[0].unlink()
    return root


REFUSALS = {
    "cluster_state_missing": lambda root: (Path(root, "__cluster/state.json").unlink(), root)[1],
    "invalid_state_json": lambda root: (Path(root, "__cluster/state.json").write_text("{"), root)[1],
    "unsupported_state_version": lambda root: edited(root, lambda _, whole: whole.update(version=9)),
    "cluster_empty": lambda root: edited(root, lambda resources, _: resources.clear()),
    "external_blob_policy_digest_mismatch": lambda root: edited(
        root, lambda resources, _: resources["graph.art"].update(digest="0" * 64)
    ),
    "catalog_payload_missing": lost,
    "catalog_payload_digest_mismatch": altered,
    "policy_bindings_missing": lambda root: edited(
        root, lambda resources, _: resources["policy.keepers"].pop("applies_to")
    ),
    "duplicate_policy_binding": lambda root: edited(
        root, lambda resources, _: resources.update({"policy.twin": dict(resources["policy.keepers"])})
    ),
    "invalid_recovery_sidecar": lambda root: sidecar(root, "{"),
    "unsupported_recovery_sidecar_version": lambda root: sidecar(root, {"schema_version": 2, "graph_id": "art"}),
    "cluster_recovery_unattributed": lambda root: sidecar(root, {"schema_version": 1, "graph_id": None}),
    "cluster_no_healthy_graphs": lambda root: sidecar(root, {"schema_version": 1, "graph_id": "art"}),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_is_wrong_with_the_cluster_stops_the_start(museum: str, code: str) -> None:
    broken = REFUSALS[code](museum)
    if code == "duplicate_policy_binding":
        twin = Path(broken, "__cluster/resources/policy/twin")
        twin.mkdir()
        (twin / blobs(broken, "policy/keepers")[0].name).write_text(POLICY)

    with pytest.raises(BootRefused) as refused:
        read_serving_snapshot(broken, environ={})

    assert refused.value.message.startswith(f"[{code}] ")
    assert all(line.startswith("[") for line in refused.value.message.splitlines())


def embedding(root: str, **provider: object) -> str:
    """Bind the graph to a provider, with the digest that its parts have."""
    from omnigraph.cluster.state import parse_ledger

    def change(resources, _) -> None:
        resources["graph.art"]["embedding_provider"] = "provider.embedding.default"
        if provider:
            resources["provider.embedding.default"] = provider

    edited(root, change)
    ledger = parse_ledger(Path(root, "__cluster/state.json").read_bytes())
    return edited(root, lambda resources, _: resources["graph.art"].update(digest=ledger.composite("art")))


def test_a_provider_that_the_ledger_does_not_describe_stops_the_start(plain_template: Path, tmp_path: Path) -> None:
    import shutil

    from omnigraph.cluster.resources import EmbeddingProfile

    profile = EmbeddingProfile(kind="openai", api_key="${MUSEUM_KEY}")
    cases = {
        ServingCode.EMBEDDING_PROVIDER_MISSING: {},
        ServingCode.EMBEDDING_PROVIDER_PROFILE_MISSING: {"digest": "0" * 64},
        ServingCode.EMBEDDING_PROVIDER_DIGEST_MISMATCH: {"digest": "0" * 64, "embedding_profile": profile.document()},
    }
    for code, provider in cases.items():
        root = tmp_path / code.value
        shutil.copytree(plain_template, root)
        with pytest.raises(BootRefused, match=rf"\[{code.value}\]"):
            read_serving_snapshot(embedding(str(root), **provider), environ={})

    whole = tmp_path / "whole"
    shutil.copytree(plain_template, whole)
    embedding(str(whole), digest=profile.digest, embedding_profile=profile.document())
    with pytest.raises(BootRefused, match=r"cluster_no_healthy_graphs.*MUSEUM_KEY"):
        served_app(str(whole))


@pytest.fixture(scope="module")
def two_graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("two") / "museum"
    root.mkdir()
    make_cluster(str(root), {"archive": Declared(), "art": Declared()})
    return root


def copied(template: Path, target: Path) -> str:
    import shutil

    shutil.copytree(template, target)
    return str(target)


def unreadable_root(root: str) -> None:
    import shutil

    shutil.rmtree(Path(root, "graphs/archive.omni/__manifest"))


def bad_query(root: str) -> None:
    text = "query by_artist() { match { $a: Nobody } return { $a.name } }"
    from omnigraph.cluster.resources import file_digest

    digest = file_digest(text.encode())
    Path(root, f"__cluster/resources/query/archive/by_artist/{digest}.gq").write_text(text)
    edited(root, lambda resources, _: resources["query.archive.by_artist"].update(digest=digest))
    from omnigraph.cluster.state import parse_ledger

    ledger = parse_ledger(Path(root, "__cluster/state.json").read_bytes())
    edited(root, lambda resources, _: resources["graph.archive"].update(digest=ledger.composite("archive")))


def bad_blobs(root: str) -> None:
    from omnigraph.cluster.state import parse_ledger

    base = {"uri": "https://user:secret@files.example/art/", "scope": "server_safe"}
    policy = {"mode": "allow", "bases": [base]}
    edited(root, lambda resources, _: resources["graph.archive"].update(external_blob_policy=policy))
    ledger = parse_ledger(Path(root, "__cluster/state.json").read_bytes())
    edited(root, lambda resources, _: resources["graph.archive"].update(digest=ledger.composite("archive")))


QUARANTINES = {
    "blobs": bad_blobs,
    "root": unreadable_root,
    "sidecar": lambda root: sidecar(root, {"schema_version": 1, "graph_id": "archive", "kind": "schema_apply"}),
    "query": bad_query,
}


@pytest.mark.parametrize("reason", QUARANTINES)
def test_what_is_wrong_with_one_graph_keeps_that_graph_out(two_graphs: Path, tmp_path: Path, reason: str) -> None:
    root = copied(two_graphs, tmp_path / "museum")
    QUARANTINES[reason](root)

    app = served_app(root, environ={}, unauthenticated=True)
    try:
        assert app.ask("GET", "/graphs", actor=None).json() == {"graphs": [{"graph_id": "art"}]}
        assert app.ask("GET", "/graphs/art/schema", actor=None).status_code == 200
        kept_out = app.ask("GET", "/graphs/archive/schema", actor=None)
        unknown = app.ask("GET", "/graphs/other/schema", actor=None)
        assert (kept_out.status_code, kept_out.json()["error"]) == (404, "graph 'archive' not found")
        assert unknown.json()["error"] == "graph 'other' not found"
        ready = app.ask("GET", "/readyz", actor=None).json()
        assert ready == {"status": "ready", "graphs_ready": 1, "graphs_quarantined": 1}
        (line,) = app.log.of("graph quarantined")
        assert line["graph_id"] == "archive"
        assert line["reason"]
        assert "secret" not in line["reason"]
    finally:
        app.close()
    with pytest.raises(BootRefused, match=r"graph\.archive"):
        served_app(root, environ={}, unauthenticated=True, require_all_graphs=True)


def test_no_graph_left_stops_the_start(museum: str) -> None:
    import shutil

    shutil.rmtree(Path(museum, "graphs/art.omni"))

    with pytest.raises(BootRefused, match=r"\[cluster_no_healthy_graphs\]"):
        served_app(museum)


def test_policies_without_tokens_elsewhere_than_here_are_refused(museum_template: Path) -> None:
    request = ServeRequest(cluster=str(museum_template), bind=ANYWHERE, unauthenticated=True)

    with pytest.raises(BootRefused, match=r"0\.0\.0\.0"):
        prepare(request, {}, Lines())


def test_an_open_server_over_policies_warns_loudly(museum_template: Path) -> None:
    app = served_app(str(museum_template), environ={}, unauthenticated=True)

    graphs = app.ask("GET", "/graphs", actor=None)
    schema = app.ask("GET", "/graphs/art/schema", actor=None)
    app.close()

    assert graphs.json() == {"graphs": [{"graph_id": "art"}]}
    assert schema.status_code == 200
    assert any("POLICIES ARE NOT ENFORCED" in message for message, _ in app.log.facts)


def test_a_default_graph_that_is_not_there_is_refused(museum_template: Path) -> None:
    with pytest.raises(BootRefused, match="--default-graph other"):
        served_app(str(museum_template), default_graph="other")


def test_a_server_bundle_is_for_the_server_only(tmp_path: Path) -> None:
    from omnigraph.errors import PolicyInvalid

    make_cluster(str(tmp_path), policies={"wrong": (SERVER_POLICY, ("graph.art",))})

    with pytest.raises(PolicyInvalid):
        served_app(str(tmp_path))


def test_without_the_extra_one_sentence_says_how_to_get_it(plain_template: Path) -> None:
    script = (
        "import sys; sys.modules['starlette'] = None; from omnigraph.cli.main import main;"
        f"sys.exit(main(['serve', '--cluster', {str(plain_template)!r}, '--unauthenticated']))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pip install 'omnigraph[server]'" in done.stderr


def test_tokens_come_from_a_secret_of_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3
    from moto import mock_aws

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name="tokens", SecretString='{"act-a": "from-aws"}')
        client.create_secret(Name="binary", SecretBinary=b"x")

        environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": "tokens", "OMNIGRAPH_SERVER_BEARER_TOKEN": "unused"}
        found = load_tokens(environ)

        assert (found.source, found.actor_of(b"Bearer from-aws"), len(found.digests)) == (
            "AWS Secrets Manager",
            "act-a",
            1,
        )
        for name in ("binary", "nothing"):
            with pytest.raises(BootRefused, match="AWS_SECRET"):
                load_tokens({"OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": name})


def test_a_missing_extra_for_aws_is_never_a_silent_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.errors import MissingPackage

    monkeypatch.setitem(sys.modules, "boto3", None)

    with pytest.raises(MissingPackage, match=r"omnigraph\[aws\]"):
        load_tokens({"OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": "tokens", "OMNIGRAPH_SERVER_BEARER_TOKEN": "one"})
