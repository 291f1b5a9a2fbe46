"""History: what a commit says, how one is addressed, and how an interrupted write shows in it."""

import io
import os
import signal
import subprocess

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.providers.config import EmbedConfig

pytestmark = pytest.mark.usefixtures("workplace")

WIDER = """\
node Artist { name: String @key  born: I32?  died: I32? }
node Artwork { title: String @key }
edge CreatedBy: Artwork -> Artist
"""
EMBED_SCHEMA = "node Doc { slug: String @key  title: String  vec: Vector(4) @embed(title) }\n"


@pytest.fixture
def graph(art: str) -> omnigraph.Graph:
    return omnigraph.open(art)


def head(graph: omnigraph.Graph, branch: str = "main"):
    return graph.commits(branch, limit=1)[0]


class TestMessages:
    def test_every_writing_command_takes_one(self, run, art, graph, seed_files, monkeypatch):
        seed_files.joinpath("wider.pg").write_text(WIDER, encoding="utf-8")
        graph.branches.create("review")
        lines = [
            ("load", "art.omni", "--branch", "review", "--data", "more.jsonl", "--mode", "merge", "-m", "load"),
            ("branch", "merge", "review", "--store", "art.omni", "--delete-branch", "--message", "branch merge"),
            ("schema", "apply", "art.omni", "--schema", "wider.pg", "-m", "schema apply"),
            ("optimize", "art.omni", "-m", "optimize"),
            ("init", "--schema", "art.pg", "new.omni", "-m", "init"),
        ]

        codes = {line[0]: run(*line).code for line in lines}

        assert set(codes.values()) == {0}
        said = [commit.message for commit in graph.commits(merged=True)]
        assert {"load", "branch merge", "schema apply", "optimize"} <= set(said)
        assert head(omnigraph.open("new.omni")).message == "init"

    def test_embed_takes_one_over_a_graph_and_none_over_files(self, run, seed_files, monkeypatch):
        monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
        docs = omnigraph.init("docs.omni", EMBED_SCHEMA)
        docs.load(io.BytesIO(b'{"type": "Doc", "data": {"slug": "a", "title": "t"}}\n'), mode="append")

        assert run("embed", "docs.omni", "-m", "vectors").code == 0
        assert head(docs).message == "vectors"
        assert run("embed", "--input", "seed.jsonl", "--output", "o.jsonl", "--spec", "s.json", "-m", "x").code == 2

    def test_every_writing_method_takes_one(self, graph):
        with graph.write(message="write") as batch:
            batch.insert("Artist", [{"name": "Kim"}])
        rows = io.BytesIO(b'{"type": "Artist", "data": {"name": "Lou"}}\n')

        assert batch.result.commit.message == "write"
        assert graph.load(rows, mode="append", message="load").commit.message == "load"
        assert graph.apply_schema(WIDER, message="apply").commit.message == "apply"
        assert graph.optimize(message="optimize").commit.message == "optimize"
        # Both places that hold a commit say the same: the head in its manifest, the others in the log.
        assert [commit.message for commit in graph.commits(limit=4)] == ["optimize", "apply", "load", "write"]

    def test_embed_in_python_takes_one(self, seed_files):
        docs = omnigraph.init("docs.omni", EMBED_SCHEMA)
        with docs.write() as batch:
            batch.insert("Doc", [{"slug": "a", "title": "t"}])
        config = EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": "1"})

        assert docs.embed(config=config, message="vectors").commit.message == "vectors"

    @pytest.mark.parametrize("message", ["two\nlines", "\x1b[2J", "\ud800"])
    def test_one_that_could_forge_a_listing_is_refused_before_anything_happens(self, message, graph):
        before = head(graph)

        with pytest.raises(errors.InvalidName, match="message"):
            graph.load(io.BytesIO(b""), mode="append", branch="new", from_branch="main", message=message)
        with pytest.raises(errors.InvalidName, match="message"):
            graph.write(message=message)

        assert head(graph) == before
        assert [branch.name for branch in graph.branches.list()] == ["main"]

    def test_it_is_in_both_forms_of_the_list(self, run, graph):
        with graph.write(message="Kim arrives", actor="act-ines") as batch:
            batch.insert("Artist", [{"name": "Kim"}])

        line = run("commit", "list", "art.omni", "--limit", "1")
        document = run("commit", "list", "art.omni", "--limit", "1", "--json").document

        assert line.out.endswith("Z actor=act-ines message=Kim arrives\n")
        assert document["commits"][0]["message"] == "Kim arrives"
        assert isinstance(document["commits"][0]["created_at"], int)


class TestAddresses:
    @pytest.mark.parametrize(("address", "version"), [("main", 2), ("main~1", 1), ("main@1", 1), ("main@2", 2)])
    def test_a_commit_is_shown_by_any_address(self, address, version, run, shown_art):
        assert run("commit", "show", address, "--store", shown_art, "--json").document["manifest_version"] == version

    @pytest.mark.parametrize("spell", [str.upper, str.lower])
    def test_the_beginning_of_an_id_is_enough_if_nobody_shares_it(self, spell, run, shown_art):
        newest = omnigraph.open(shown_art, read_only=True).commits(limit=1)[0].graph_commit_id

        for line in (
            ("commit", "show", spell(newest[:20])),
            ("commit", "changes", spell(newest[:20])),
            ("snapshot", "--snapshot", spell(newest[:20])),
            ("export", "--snapshot", spell(newest[:20])),
        ):
            assert run(*line, "--store", shown_art).code == 0, line

    def test_an_ambiguous_beginning_lists_the_candidates(self, run, shown_art):
        commits = omnigraph.open(shown_art, read_only=True).commits()
        shared = commits[0].graph_commit_id[:4]

        ran = run("commit", "show", shared, "--store", shown_art, "--json")

        assert ran.code == 1
        assert ran.document["invalid_target"]["candidates"] == sorted(commit.graph_commit_id for commit in commits)
        assert all(commit.graph_commit_id in ran.err for commit in commits)

    def test_a_branch_goes_before_the_beginning_of_an_id(self, graph):
        name = head(graph).graph_commit_id[:12]
        graph.branches.create(name, source="main~1")

        assert graph.commit(name).kind.value == "genesis"
        assert graph.snapshot_at(name).graph_version == 1

    def test_a_commit_of_a_branch_that_is_gone_is_still_shown(self, graph):
        graph.branches.create("review")
        with graph.write(branch="review") as batch:
            batch.insert("Artist", [{"name": "Kim"}])
        made = batch.result.commit
        graph.branches.merge("review", delete_branch=True)

        assert graph.commit(made.graph_commit_id[:24]) == made

    def test_a_feed_starts_after_any_address(self, run, shown_art):
        polled = run("changes", "poll", "--store", shown_art, "--start", "after:main~1", "--json").document

        assert [block["cause"]["graph_commit_id"] for block in polled["blocks"]] == [
            omnigraph.open(shown_art, read_only=True).commits(limit=1)[0].graph_commit_id
        ]

    def test_what_is_no_address_says_what_one_looks_like(self, run, shown_art):
        ran = run("commit", "show", "nonsense", "--store", shown_art)

        assert ran.code == 1
        assert "main~2" in ran.err


class TestRecoveries:
    def kill(self, program: str, point: str) -> None:
        done = subprocess.run(
            [program, "load", "art.omni", "--data", "seed.jsonl", "--mode", "overwrite", "--as", "act-bo", "--quiet"],
            env={**os.environ, "OMNIGRAPH_FAILPOINT": f"{point}:kill"},
            timeout=120,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL

    def test_the_writer_that_completes_a_write_says_so_and_history_remembers(self, program, run, art, graph):
        self.kill(program, "write.after_effects")

        ran = run("load", "art.omni", "--data", "more.jsonl", "--mode", "merge")

        recovered = graph.commit("main~1")
        [note] = [line for line in ran.err.splitlines() if line.startswith("note: completed")]
        assert "load" in note
        assert "act-bo" in note
        assert recovered.graph_commit_id in note
        document = run("commit", "show", "main~1", "--store", art, "--json").document
        assert document["recovery"]["recovery_kind"] == "rolled_forward"
        assert document["recovery"]["recovered_by"]["pid"] == os.getpid()
        assert isinstance(document["recovery"]["recovered_at"], int)
        assert "recovered_by=" in run("commit", "list", "art.omni").out

    def test_the_writer_that_undoes_a_write_says_so(self, program, run, art, graph):
        self.kill(program, "write.between_tables")

        ran = run("branch", "create", "review", "--store", "art.omni")

        assert "note: undid the interrupted load" in ran.err
        assert head(graph).kind.value == "rollback"
        assert "undone" in run("commit", "show", "main", "--store", art).out

    def test_a_writer_with_an_open_handle_says_so_too(self, program, art, graph):
        self.kill(program, "write.after_effects")
        heard = []

        with graph.write(events=heard.append) as batch:
            batch.insert("Artist", [{"name": "Kim"}])

        assert [event.message for event in heard if "completed the interrupted load" in getattr(event, "message", "")]
