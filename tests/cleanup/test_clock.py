"""Cleanup measures ages with the store's clock: whatever this machine believes, young files and versions stay."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base import clock, ids
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.locks import StoreClock, put_reader_lease
from omnigraph.storage.retention import stored_versions
from omnigraph.storage.store import GraphStore
from support import harbor
from support.ages import age
from support.s3_process import BUCKET, client_environment, running_s3
from support.writers import paused_child, resume

DAYS = 8
AHEAD = {clock.SHIFT_VARIABLE: str(DAYS * 86_400)}


@pytest.fixture
def behind_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A graph on an S3 server whose clock is behind by days: this machine is ahead, and all of Lance with it."""
    with running_s3(tmp_path, shift_seconds=-DAYS * 86_400) as url:
        for name, value in client_environment(url).items():
            monkeypatch.setenv(name, value)
        yield f"s3://{BUCKET}/{ids.new_ulid()}/graph.omni"


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def skewed(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """A root, and the environment in which a process is days ahead of its store."""
    if request.param == "local":
        return str(request.getfixturevalue("local_root")), AHEAD
    return str(request.getfixturevalue("behind_root")), {}


def command(uri: str, *words: str, environment: dict[str, str]) -> dict[str, Any]:
    """Run `cleanup` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph", "cleanup", uri, *words, "--json", "--yes"],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {**json.loads(done.stdout), "stderr": done.stderr}


def removed(document: dict[str, Any]) -> int:
    return sum(row["bytes_removed"] for row in document["tables"])


def test_a_machine_that_is_ahead_takes_nothing_young_and_says_that_it_is_ahead(
    skewed: tuple[str, dict[str, str]],
) -> None:
    uri, environment = skewed
    graph = harbor.new_graph(uri)
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    pinned = [pin.state for pin in graph.snapshot(version=2).tables]
    graph._context.store.objects.put(f"__staging/{ids.new_ulid()}/rows", b"x")
    graph.apply_schema(harbor.SCHEMA.replace("node Note { text: String }", ""))
    before = set(graph._context.store.objects.list(""))

    with put_reader_lease(graph._context.store.objects, pinned, operation="a long read"):
        for words in (("--older-than", "7d"), ("--keep", "100"), ("--older-than", "7d", "--keep", "1")):
            preview = command(uri, *words, environment=environment)
            done = command(uri, *words, "--confirm", environment=environment)

            assert (removed(preview), removed(done)) == (0, 0)
            assert preview["tables"] == done["tables"]
            for said in (preview, done):
                assert said["clock_skew_secs"] == pytest.approx(DAYS * 86_400, abs=60)
                assert "ahead of that of the store; cleanup goes by the store's" in said["stderr"]
    assert before - set(graph._context.store.objects.list("")) == set()


@pytest.mark.parametrize("kind", ["load_merge", "bulk_load"])
def test_a_live_writer_keeps_its_staged_files_beside_a_cleanup_that_is_ahead(
    skewed: tuple[str, dict[str, str]], kind: str
) -> None:
    uri, environment = skewed
    graph = harbor.new_graph(uri)
    with paused_child(uri, kind, "write.after_stage") as writing:
        assert removed(command(uri, "--keep", "1000", "--confirm", environment=environment)) == 0
        said = resume(writing)

    assert said["ok"] is True, said
    assert graph.snapshot().commit_id == said["commit"]
    assert "Di" in harbor.content(graph)


def test_a_machine_that_is_behind_removes_what_is_old_by_the_store(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    location = next(pin.location for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    left = Path(local_root, location, "data", "left.lance")
    left.write_bytes(b"x" * 100)
    age(Path(local_root, location))
    behind = {clock.SHIFT_VARIABLE: str(-30 * 86_400)}

    preview = command(local_root, "--older-than", "7d", environment=behind)
    done = command(local_root, "--older-than", "7d", "--confirm", environment=behind)

    assert preview["tables"] == done["tables"]
    assert "behind that of the store" in done["stderr"]
    row = next(row for row in done["tables"] if row["table_key"] == "node:Sailor")
    assert row["old_versions_removed"] == 4
    assert not left.exists()


def test_the_age_of_a_version_is_that_of_its_file_whatever_the_writers_clock_said(local_root: str) -> None:
    """A file system tells when a manifest was written; what stands in it is the time of whoever wrote it."""
    graph = harbor.new_graph(local_root)
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    address = next(pin.address for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    versions = stored_versions(graph._context.store.objects, address)
    for stored in versions[:2]:
        name = f"{2**64 - 1 - stored.version:020d}.manifest"
        age(Path(local_root, address.path, "_versions"), only=name)

    report = graph.cleanup(older_than="7d", confirm=True)

    assert next(row for row in report.rows if row.table_key == "node:Sailor").removed.versions == 2
    left = [stored.version for stored in stored_versions(graph._context.store.objects, address)]
    assert left == [stored.version for stored in versions[2:]]


def test_looking_at_the_clock_for_a_preview_writes_nothing(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    objects = GraphStore.open(store_root).objects
    before = objects.facts("")

    glance = StoreClock.estimate(objects)
    graph.cleanup(CleanupPolicy(older_than=timedelta(days=7)))

    assert objects.facts("") == before
    assert glance.skew_seconds is not None
    assert glance.now_seconds() == pytest.approx(StoreClock.observe(objects).now_seconds(), abs=2)


def test_clocks_that_agree_are_not_worth_a_word(local_root: str) -> None:
    harbor.new_graph(local_root)

    said = command(local_root, "--keep", "3", "--confirm", environment={})

    assert abs(said["clock_skew_secs"]) < 60
    assert "warning" not in said["stderr"]


def test_a_dropped_table_waits_by_the_mark_that_the_store_dated(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    location = next(pin.location for pin in graph.snapshot().tables if pin.type_name == "Note")
    # Whoever drops it believes to be in the past: the commit says so for ever.
    schema = Path(local_root).with_name("without_notes.pg")
    schema.write_text(harbor.SCHEMA.replace("node Note { text: String }", ""))
    subprocess.run(
        [sys.executable, "-m", "omnigraph", "schema", "apply", "--schema", str(schema), local_root],
        env={**os.environ, clock.SHIFT_VARIABLE: str(-30 * 86_400), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )

    assert not any(row.dropped for row in graph.cleanup(older_than="7d", confirm=True).rows)
    assert graph._context.store.objects.list(f"{location}/") != ()

    age(Path(local_root, location))
    assert any(row.dropped and row.removed.bytes for row in graph.cleanup(older_than="7d", confirm=True).rows)
    assert graph._context.store.objects.list(f"{location}/") == ()
