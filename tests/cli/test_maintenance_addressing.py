"""How the maintenance commands find their graph: every way to say it, what they refuse, and what they echo."""

import json
from pathlib import Path
from typing import Any

import pytest

from support import harbor

COMMANDS = ("optimize", "repair", "cleanup", "health", "verify", "recover")


def failing(code: int, command: str) -> int:
    """Return the code of a failure: `health` and `verify` use the small numbers for what they found."""
    return {1: 70, 2: 64}[code] if command in {"health", "verify"} else code


@pytest.fixture
def graph_uri(tmp_path: Path) -> str:
    """A graph of a cluster whose catalog is gone and that has a recovery of its own pending."""
    graph = harbor.new_graph(str(tmp_path / "museum" / "graphs" / "kb.omni"))
    graph.optimize()
    control = tmp_path / "museum" / "__cluster"
    (control / "recovery").mkdir(parents=True)
    (control / "recovery" / "01JABANDONED0000000000000000.json").write_text("{}")
    applied = {"graph.kb": {"digest": "of a blob that is gone"}, "policy.kb": {"digest": "broken"}}
    (control / "state.json").write_text(json.dumps({"version": 1, "applied_revision": {"resources": applied}}))
    return graph.uri


@pytest.mark.parametrize("command", COMMANDS)
def test_every_way_to_address_a_graph_finds_it(run: Any, graph_uri: str, tmp_path: Path, command: str) -> None:
    cluster = str(tmp_path / "museum")
    ways = [
        (graph_uri,),
        (f"file://{graph_uri}",),
        ("--store", graph_uri),
        ("--cluster", cluster),
        ("--cluster", f"file://{cluster}", "--graph", "kb"),
    ]

    for way in ways:
        ran = run(command, *way, "--json")

        assert ran.code in {0, 1}, ran.err
        assert "kind" not in ran.document, ran.err
        assert ("→" in ran.err) == (way[0] == "--cluster"), "only an address that was looked up is news"
        told = run(command, *way, "--json", "--verbose").err
        assert told.startswith(f"omnigraph {command} → ")
        assert told.splitlines()[0].endswith("kb.omni (direct, local)")


@pytest.mark.parametrize("command", COMMANDS)
def test_quiet_silences_the_target(run: Any, graph_uri: str, command: str) -> None:
    assert "→" not in run(command, graph_uri, "--quiet", "--verbose").err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "address",
    [("--server", "prod"), ("http://127.0.0.1:1/kb",), ("--store", "https://x/kb"), ("--cluster", "https://x/museum")],
)
def test_a_server_is_refused_and_the_message_says_what_to_pass(
    run: Any, command: str, address: tuple[str, ...]
) -> None:
    ran = run(command, *address)

    assert ran.code == failing(2, command)
    assert "direct (storage-native)" in ran.err
    assert f"`{command}`" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_graph_that_is_not_applied_names_those_that_are(
    run: Any, graph_uri: str, tmp_path: Path, command: str
) -> None:
    ran = run(command, "--cluster", str(tmp_path / "museum"), "--graph", "kd")

    assert ran.code == failing(1, command)
    assert "[kb]" in ran.err
    assert "cluster apply" in ran.err
