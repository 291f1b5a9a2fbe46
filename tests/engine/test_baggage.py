"""What tasks take along to workers: there while they run, gone afterwards, and printed nowhere."""

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from omnigraph.engine.spark.baggage import Baggage

IN_WORKER = """
import os, pickle, sys
sys.modules["omnigraph"] = None  # as if it were not installed
before = dict(os.environ), list(sys.path)
task = pickle.load(sys.stdin.buffer)
seen = list(task(iter([1, 2])))
print(seen, (dict(os.environ), list(sys.path)) == before)
"""
ONLY_HERE = """
import os
def run(batches):
    yield from ((batch, os.environ["A_KEY"], os.environ["GIVEN"], os.environ["MISSING"]) for batch in batches)
"""


def packed(function: object) -> bytes:
    from pyspark import cloudpickle

    return cloudpickle.dumps(function)


def in_worker(task: bytes, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", IN_WORKER], input=task, capture_output=True, check=False, env=os.environ | variables
    )


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A function of a module that only this process can import."""
    (tmp_path / "only_here.py").write_text(ONLY_HERE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here

    yield only_here.run
    del sys.modules["only_here"]


def test_a_worker_that_knows_nothing_of_us_runs_a_task_and_is_as_before(only_here: object, tmp_path: Path) -> None:
    baggage = Baggage(variables={"A_KEY": "hush"}, defaults={"GIVEN": "ours", "MISSING": "ours"}, path=(str(tmp_path),))

    done = in_worker(packed(baggage.over_batches(only_here)), GIVEN="theirs")

    assert (
        done.stdout.decode().strip() == str([(1, "hush", "theirs", "ours"), (2, "hush", "theirs", "ours")]) + " True"
    ), done.stderr.decode()


def test_a_worker_without_the_package_is_named_with_its_python(only_here: object) -> None:
    done = in_worker(packed(Baggage().over_batches(only_here)))

    assert f"{sys.executable}, the Python of Spark's worker on " in done.stderr.decode()
    assert "has no package `only_here`" in done.stderr.decode()


def _failing(*_: object) -> None:
    raise ValueError("broken")


def test_keys_are_in_no_printed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    baggage = Baggage(variables={"A_KEY": "hush"})
    task, group = baggage.over_batches(_failing), baggage.over_groups(_failing)

    texts = [repr(baggage), repr(task), repr(group)]
    for call in (lambda: list(task(iter(()))), lambda: group((), None)):
        try:
            call()
        except ValueError as failure:
            texts += traceback.TracebackException.from_exception(failure, capture_locals=True).format()

    assert any("broken" in text for text in texts)
    assert not [text for text in texts if "hush" in text]
    assert "A_KEY" not in os.environ
