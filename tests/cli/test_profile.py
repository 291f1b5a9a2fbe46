"""`profile list` and `profile show`."""

import pytest

CONFIG = """
servers: { staging: { url: https://staging.example.org/ } }
clusters: { museum: { root: s3://museum-data/main } }
profiles:
  stage: { server: staging, default_graph: artworks }
  keeper: { cluster: museum }
  laptop: { store: laptop.omni }
  both: { server: staging, store: laptop.omni }
  lost: { server: nowhere }
defaults: { store: home.omni, output: kv }
"""


def test_list_says_what_each_profile_is_bound_to(run, configure, monkeypatch):
    configure(CONFIG)
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "keeper")

    profiles = {profile["name"]: profile for profile in run("profile", "list", "--json").document}

    assert list(profiles) == ["stage", "keeper", "laptop", "both", "lost"]
    assert profiles["stage"] == {
        "name": "stage",
        "binding": "server",
        "scope_kind": "server",
        "target": "staging",
        "valid": True,
        "error": None,
        "default_graph": "artworks",
        "active": False,
    }
    assert profiles["keeper"]["active"]
    assert profiles["laptop"]["scope_kind"] == "store"
    assert profiles["both"]["scope_kind"] == "invalid"
    assert profiles["both"]["binding"] == "server, store"
    assert not profiles["both"]["valid"]
    assert not profiles["lost"]["valid"]
    assert "nowhere" in profiles["lost"]["error"]


def test_list_marks_the_active_profile_for_people(run, configure, monkeypatch):
    configure(CONFIG)
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "laptop")

    lines = run("profile", "list").out.splitlines()

    assert lines[0].split() == ["active", "profile", "scope", "target", "default", "graph"]
    assert [line.split() for line in lines if line.startswith("* ")] == [["*", "laptop", "store", "laptop.omni", "-"]]


def test_list_without_profiles_says_so(run):
    assert run("profile", "list").out == "(no profiles defined)\n"
    assert run("profile", "list", "--json").document == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stage", ("server", "staging", "https://staging.example.org", "artworks")),
        ("keeper", ("cluster", "museum", "s3://museum-data/main", None)),
        ("laptop", ("store", "laptop.omni", "laptop.omni", None)),
    ],
)
def test_show_reports_target_and_endpoint(name, expected, run, configure):
    configure(CONFIG)

    document = run("profile", "show", name, "--json").document

    assert tuple(document.values()) == (name, *expected, "kv")
    assert list(document) == ["name", "scope_kind", "target", "endpoint", "default_graph", "output_format"]


def test_show_without_a_name_follows_the_order_of_resolution(run, configure, monkeypatch):
    configure(CONFIG)

    assert run("profile", "show", "--json").document["target"] == "home.omni"
    monkeypatch.setenv("OMNIGRAPH_STORE", "environment.omni")
    assert run("profile", "show", "--json").document["target"] == "environment.omni"
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "laptop")
    document = run("profile", "show", "--json").document
    assert (document["name"], document["target"]) == ("laptop", "laptop.omni")


def test_show_without_anything_configured_is_the_empty_default(run):
    document = run("profile", "show", "--json").document

    assert document["name"] == "(defaults)"
    assert document["scope_kind"] is None


@pytest.mark.parametrize("name", ["nope", "both"])
def test_show_refuses_what_resolution_would_refuse(name, run, configure):
    configure(CONFIG)

    ran = run("profile", "show", name)

    assert ran.code == 2
    assert f"'{name}'" in ran.err
