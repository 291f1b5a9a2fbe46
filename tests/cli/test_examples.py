"""Every example that help prints runs as printed."""

import io
import os
import subprocess
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.app import build_app
from omnigraph.cli.help_pages import FIRST_STEPS
from omnigraph.verbs.table import VERBS

NEED_A_SERVER = {"alias", "serve", "graphs list"}
GO_ON_UNTIL_ENDED = {"ui"}
"""`tests/console` starts it and looks at its pages."""
NEED_A_CLUSTER = {"cluster", "queries"}
"""Their examples run in `tests/cluster/test_cli.py`, in the order in which a cluster lives."""


def all_examples() -> list[str]:
    app = build_app()
    examples = []
    for row in VERBS:
        if row.words in NEED_A_SERVER | GO_ON_UNTIL_ENDED or row.group in NEED_A_CLUSTER:
            continue
        group = app.get_command(None, row.group) if row.group else app
        examples.extend(group.get_command(None, row.name).examples)
    return examples


def run_in_bash(script: str, program: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        env=environ,
        stdin=subprocess.DEVNULL,  # `omnigraph shell` talks to whoever is there
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def photos(workplace):
    """Make `photos.omni`, whose one photo has ten bytes."""
    graph = omnigraph.init(str(workplace / "photos.omni"), "node Photo { name: String @key\n content: Blob? }")
    record = b'{"type": "Photo", "data": {"name": "sea", "content": "base64:MDEyMzQ1Njc4OQ=="}}'
    graph.load(io.BytesIO(record), mode="append")


@pytest.mark.slow
def test_every_example_runs_as_printed(art, photos, program):
    for example in all_examples():
        done = run_in_bash(example, program)

        assert done.returncode == 0, f"{example}\n{done.stderr}"


def test_the_first_steps_run_in_order(seed_files, program):
    done = run_in_bash("\n".join(FIRST_STEPS), program)

    assert done.returncode == 0, done.stderr
