"""A reader in this process follows a writer in another one: every answer is right, and nothing is read as a whole."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest

from omnigraph.graph import Graph
from omnigraph.graphs.snapshot import Snapshot, pinned_state
from omnigraph.query.image import images, known_states
from support.friends_writer import ASKED, Friends, start

AGE = "query q($k: String) { match { $a: Person { name: $k } } return { $a.age as found } }"
OUT = (
    "query q($k: String) { match { $a: Person { name: $k } $a knows $b } return { $b.name as found } order { found } }"
)
INTO = (
    "query q($k: String) { match { $a: Person { name: $k } $b knows $a } return { $b.name as found } order { found } }"
)

IMAGE_BYTES_MAX = 32 << 20
PROCESS_MIB_MAX = 256


class Turns:
    """Which turn of the writer each commit was, as it says itself."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._turns: dict[str, int] = {}
        self._process = process
        self._listening = Thread(target=self._listen)
        self._listening.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            turn, commit = line.split()
            self._turns[commit] = int(turn)

    def of(self, commit: str) -> int:
        """Wait until the writer has told of a commit that it has made."""
        while commit not in self._turns and self._listening.is_alive():
            time.sleep(0.001)
        return self._turns[commit]

    def all(self) -> list[int]:
        """Return all turns, after the end of the writer."""
        self._listening.join()
        return list(self._turns.values())


@dataclass
class Followed:
    """What a reader saw: how many commits there were and how many it met, and the memory that it took each time."""

    commits: int = 0
    seen: int = 0
    image_bytes: list[int] = field(default_factory=list)
    process_mib: list[float] = field(default_factory=list)

    def said(self, seconds: float) -> str:
        rate = f"{self.commits} commits in {seconds:.0f} s ({self.commits / seconds:.1f}/s), {self.seen} of them read"
        images_took = f"images took {self.image_bytes[0]:,} to {max(self.image_bytes):,} bytes"
        return f"{rate}; {images_took}, the process {self.process_mib[0]:.0f} to {self.process_mib[-1]:.0f} MiB"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return start(str(tmp_path / "g.omni"))


def write(graph: Graph, seconds: int) -> "subprocess.Popen[str]":
    """Start a writer of 20 commits a second, or of as many as it can."""
    command = [sys.executable, "-m", "support.friends_writer", graph.uri, str(seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def follow(graph: Graph, seconds: int, monkeypatch: pytest.MonkeyPatch) -> Followed:
    """Read while a writer commits, and compare each answer with the graph as it is after that turn."""
    friends, followed = Friends(), Followed()
    with graph.snapshot() as snapshot:
        compare(snapshot, friends, ["p0"])
        last = snapshot.commit_id
    # From here on the image is there, and only what changes is read.
    for module, read in ((known_states, "read_node_rows"), (known_states, "read_edge_rows"), (images, "read_ends")):
        monkeypatch.setattr(module, read, lambda *_, **__: pytest.fail("was read as a whole"))
    with write(graph, seconds) as process:
        turns, is_over = Turns(process), False
        while not is_over:
            is_over = process.poll() is not None  # what is read after it is all there is
            with graph.snapshot() as snapshot:
                if snapshot.commit_id == last:
                    time.sleep(0.002)
                    continue
                while friends.turn < turns.of(snapshot.commit_id):
                    friends.go_on()
                some = (followed.seen % ASKED, (followed.seen + 17) % ASKED)
                compare(snapshot, friends, [*(f"p{number}" for number in some), f"new{friends.turn % 30}"])
                shelf = images.images_of(pinned_state(snapshot)[0])._shelf
            last = snapshot.commit_id
            followed.seen += 1
            followed.image_bytes.append(shelf.used_bytes)
            followed.process_mib.append(_process_mib())
    followed.commits = max(turns.all(), default=0)
    assert process.returncode == 0
    assert friends.turn == followed.commits
    return followed


def compare(snapshot: Snapshot, friends: Friends, names: list[str]) -> None:
    for name in names:
        found = tuple([row["found"] for row in snapshot.query(text, k=name).rows()] for text in (AGE, OUT, INTO))
        assert found == friends.around(name), (friends.turn, name)


def _process_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def test_a_reader_follows_a_writer(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = follow(graph, 2, monkeypatch)

    assert followed.commits > 1
    assert followed.seen > 1


def test_a_reader_follows_a_writer_for_a_minute(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = follow(graph, 60, monkeypatch)

    print(followed.said(60))
    assert followed.seen > 20
    # Patches of eight states at most, each folded into a base after a thousand changed rows.
    assert max(followed.image_bytes) < IMAGE_BYTES_MAX
    # Lance keeps what it knows of files in a cache of 256 MiB, and every commit of the writer adds files.
    assert followed.process_mib[-1] - followed.process_mib[0] < PROCESS_MIB_MAX
