"""Lance panics over some damaged files; whoever works with a graph meets a typed error instead."""

import os
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

import omnigraph
from omnigraph import errors
from omnigraph.base.endings import is_panic
from omnigraph.cli.main import main
from support import harbor


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[str, str]:
    """A graph, and the one of its types whose newest manifest is cut where Lance is known to panic."""
    root = str(tmp_path / "harbor.omni")
    graph = harbor.new_graph(root)
    pin = graph.snapshot().table("Sailor").pin
    manifest = max(Path(root, pin.location, "_versions").glob("*.manifest"), key=lambda path: path.stat().st_mtime_ns)
    content = manifest.read_bytes()
    for length in panicking_lengths(len(content)):
        manifest.write_bytes(content[:length])
        if panics(str(Path(root, pin.location)), pin.version):
            return root, pin.table_key
    pytest.fail("this Lance does not panic over a manifest that is cut short: look for another damage")


def panicking_lengths(size: int) -> Iterator[int]:
    """Yield how much of a file to keep, beginning with what made Lance 14 panic."""
    yield from range(size - 1, 16, -1)


def panics(uri: str, version: int) -> bool:
    try:
        lance.dataset(uri, version=version).to_table()
    except BaseException as raised:  # noqa: BLE001  # what it is is the question
        return is_panic(raised)
    return False


def test_a_panic_is_no_exception_and_is_recognised(damaged: tuple[str, str]) -> None:
    root, key = damaged
    pin = next(pin for pin in omnigraph.open(root, read_only=True).snapshot().tables if pin.table_key == key)

    with pytest.raises(BaseException) as caught:  # its class cannot be named
        lance.dataset(str(Path(root, pin.location)), version=pin.version).to_table()

    assert not isinstance(caught.value, Exception)
    assert is_panic(caught.value)
    assert not is_panic(KeyboardInterrupt())
    assert not is_panic(None)


def test_python_programs_get_a_storage_error(damaged: tuple[str, str]) -> None:
    root, key = damaged
    graph = omnigraph.open(root)

    with pytest.raises(errors.StorageError, match="panicked") as caught:
        graph.snapshot().table(key).to_arrow()
    assert caught.value.details["storage_kind"] == "unknown"
    with pytest.raises(errors.OmniError):
        graph.load(harbor.lines([harbor.sailor("Zed")]), mode="merge")

    graph.load(harbor.lines([{"type": "Note", "data": {"text": "the other tables are well"}}]), mode="append")


@pytest.mark.parametrize(
    "words",
    [
        ("load", "--data", "sailor.jsonl", "--mode", "merge"),
        ("export",),
        ("health",),
        ("optimize",),
        ("repair",),
        ("cleanup",),
        ("verify",),
    ],
    ids=" ".join,
)
def test_no_command_shows_a_stack_trace(
    damaged: tuple[str, str],
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root, _ = damaged
    monkeypatch.chdir(tmp_path)
    Path("sailor.jsonl").write_bytes(harbor.lines([harbor.sailor("Zed")]).read())

    code = main((*words, root))

    told = capsys.readouterr().err
    assert code in {1, 2, 5, 7, os.EX_SOFTWARE}
    assert "defect in omnigraph" not in told
    assert "Traceback" not in told
