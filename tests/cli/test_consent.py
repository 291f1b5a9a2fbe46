"""Destructive writes on targets that are not local."""

import os
import pty
import subprocess

import pytest

from omnigraph import errors
from omnigraph.cli.flags import RunningCommand
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import StorageTarget, require_consent, storage_at
from omnigraph.verbs.table import verb

REMOTE = StorageTarget(uri="s3://no-such-bucket/g.omni", name="g")
OVERWRITE = ("load", "--mode", "overwrite", "--data", "d.jsonl")


@pytest.fixture
def type_at_terminal(monkeypatch):
    """Make stdin a terminal at which somebody has typed this."""
    opened = []

    def typed(keys: str) -> None:
        keyboard, terminal = pty.openpty()
        os.write(keyboard, keys.encode())
        opened.append(keyboard)
        monkeypatch.setattr("sys.stdin", open(terminal, encoding="utf-8"))  # noqa: PTH123, SIM115  # a descriptor

    yield typed
    for descriptor in opened:
        os.close(descriptor)


def load_invocation(*arguments: str) -> Invocation:
    invocation = Invocation(argv=arguments, environ={})
    invocation.command = RunningCommand(verb=verb("load"), typed="load")
    return invocation


@pytest.mark.parametrize("uri", ["s3://x/g.omni", "gs://x/g.omni"])
def test_without_a_terminal_the_command_refuses_before_anything_is_opened(uri, run):
    ran = run(*OVERWRITE, "--store", uri)

    assert ran.code == 3
    assert ran.out == ""
    assert ran.err == f"error: {uri} is not local: refusing destructive `load` without consent (--yes)\n"


def test_the_refusal_has_an_error_document(run):
    ran = run(*OVERWRITE, "--store", "s3://x/g.omni", "--json")

    assert ran.code == 3
    assert ran.document["kind"] == "not_confirmed"
    assert ran.document["not_confirmed"] == {"command": "load", "target": "s3://x/g.omni"}


@pytest.mark.parametrize("uri", ["g.omni", "./g.omni", "/srv/g.omni", "file:///srv/g.omni"])
def test_local_targets_need_no_consent(uri):
    require_consent(load_invocation(), StorageTarget(uri=uri, name="g"))


def test_yes_is_consent():
    invocation = load_invocation("--json")
    invocation.flags.yes = True

    require_consent(invocation, REMOTE)


def test_typing_the_name_of_the_graph_is_consent(type_at_terminal, capsys):
    type_at_terminal("g\n")

    require_consent(load_invocation(), REMOTE)

    prompt = capsys.readouterr().err
    assert "omnigraph load" in prompt
    assert REMOTE.uri in prompt


@pytest.mark.parametrize("answer", ["\n", "y\n", "yes\n", "G\n", "g.omni\n", "\x04"])
def test_any_other_answer_aborts(answer, type_at_terminal):
    type_at_terminal(answer)

    with pytest.raises(errors.NotConfirmed, match="nothing was done"):
        require_consent(load_invocation(), REMOTE)


def test_json_never_asks(type_at_terminal):
    type_at_terminal("g\n")

    with pytest.raises(errors.NotConfirmed, match="refusing destructive"):
        require_consent(load_invocation("--json"), REMOTE)


def test_a_graph_without_a_name_is_named_by_all_of_its_last_segment():
    command = RunningCommand(verb=verb("cleanup"), typed="cleanup")

    assert storage_at(command, "s3://x/.omni").name == ".omni"
    assert storage_at(command, "s3://x/g.omni/").name == "g"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_defect(closed, program, workplace):
    line = f'"{program}" cleanup s3://x/g.omni --confirm {closed}'

    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 3
    assert "defect" not in done.stderr


def test_a_forced_init_on_an_object_store_needs_consent(run, workplace):
    workplace.joinpath("art.pg").write_text("node A { n: String @key }\n", encoding="utf-8")

    ran = run("init", "--schema", "art.pg", "--force", "s3://x/g.omni")

    assert ran.code == 3
    assert "refusing destructive `init`" in ran.err
