"""History that cleanup took, over HTTP: what needs it is 410, with what was lost and nothing of where."""

from pathlib import Path

import lance
import pytest

from support.served import POLICY, ServedApp, make_cluster, served_app

INSERT = "query add($n: String) { insert Artist { name: $n } }"
READ = "query q() { match { $a: Artist } return { $a.name } }"


@pytest.fixture(scope="module")
def gone(tmp_path_factory: pytest.TempPathFactory):
    """A graph with three more commits, the second of which has lost its table; and their ids."""
    root = tmp_path_factory.mktemp("gaps") / "museum"
    root.mkdir()
    make_cluster(str(root), policies={"keepers": (POLICY, ("graph.art",))})
    app = served_app(str(root))
    commits, versions = [], []
    for name in ("Di", "Eli", "Flo"):
        written = app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": name}}).json()
        commits.append(written["commit"]["graph_commit_id"])
        tables = {each["table_key"]: each for each in app.ask("GET", "/graphs/art/snapshot").json()["tables"]}
        versions.append(tables["node:Artist"]["table_version"])
    place = Path(app.application.service.graphs["art"].graph.uri) / tables["node:Artist"]["table_path"]
    app.close()
    lance.dataset(str(place)).cleanup_old_versions(versions=[versions[1]])
    again = served_app(str(root))
    yield again, commits
    again.close()


def check(answer, app: ServedApp, member: str) -> dict[str, object]:
    """Check the parts that every such answer has, and return the details."""
    document = answer.json()
    assert answer.status_code == 410, document
    assert "code" not in document
    assert set(document) == {"error", "kind", member, "request_id"}
    assert app.application.service.graphs["art"].graph.uri not in answer.text
    return document[member]


def test_a_feed_says_which_commit_it_cannot_read(gone) -> None:
    app, commits = gone
    page = app.ask("GET", f"/graphs/art/changes?start=after:{commits[0]}")

    details = check(page, app, "change_feed_gap")

    assert page.json()["kind"] == "history_reclaimed"
    assert details["first_unreadable_commit_id"] == commits[1]


def test_what_a_commit_changed_cannot_be_told_without_the_state_before_it(gone) -> None:
    app, commits = gone
    for commit in commits[1:]:
        answer = app.ask("GET", f"/graphs/art/commits/{commit}/changes")

        assert check(answer, app, "change_feed_gap")["first_unreadable_commit_id"] in commits[1:]
        assert answer.json()["kind"] == "history_reclaimed"
        assert ".lance" not in answer.text


def test_a_read_of_the_state_says_which_table_lost_which_version(gone) -> None:
    app, commits = gone
    answer = app.ask("POST", "/graphs/art/query", {"query": READ, "snapshot": commits[1]})

    assert check(answer, app, "version_reclaimed")["table_key"] == "node:Artist"
    assert app.ask("POST", "/graphs/art/query", {"query": READ, "snapshot": commits[2]}).status_code == 200
