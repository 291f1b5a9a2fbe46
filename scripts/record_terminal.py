"""Run a command on a pseudo-terminal and record what it shows, when: an asciicast, and the longest silence.

    python scripts/record_terminal.py load.cast -- omnigraph load art.omni --data art.jsonl --mode append

The recording plays in any asciicast player; every line of it is `[seconds, "o", text]`. What is printed at the end is
how long the command ran, how often it wrote something, and the longest time without it writing anything.
"""  # noqa: INP001 — a script, not a package

import argparse
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

COLUMNS, LINES = 100, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a command showed, with the seconds since it was started."""

    command: tuple[str, ...]
    outputs: tuple[tuple[float, str], ...]
    seconds: float
    exit_code: int

    @property
    def longest_gap(self) -> float:
        """Return the longest time without output, from the start to the end."""
        moments = [0.0, *(moment for moment, _ in self.outputs), self.seconds]
        return max(later - earlier for earlier, later in pairwise(moments))

    def as_cast(self) -> str:
        """Return the recording as an asciicast of version 2."""
        header = {"version": 2, "width": COLUMNS, "height": LINES, "command": " ".join(self.command)}
        lines = [[round(moment, 3), "o", text] for moment, text in self.outputs]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *lines))


def record(command: list[str]) -> Recording:
    """Run a command on a terminal of its own until it ends."""
    started = time.monotonic()
    child, keyboard = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color")
        os.execvp(command[0], command)  # noqa: S606  # the command that was asked for
    fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    outputs = []
    while True:
        try:
            seen = os.read(keyboard, 65536)
        except OSError:  # Linux says so when the last process has closed the terminal
            break
        if not seen:
            break
        outputs.append((time.monotonic() - started, seen.decode(errors="replace")))
    _, status = os.waitpid(child, 0)
    return Recording(
        command=tuple(command),
        outputs=tuple(outputs),
        seconds=time.monotonic() - started,
        exit_code=os.waitstatus_to_exitcode(status),
    )


def main() -> int:
    """Record what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cast", type=Path, help="where the recording goes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command to run")
    given = parser.parse_args()
    recording = record([word for word in given.command if word != "--"])
    given.cast.write_text(recording.as_cast(), encoding="utf-8")
    sys.stdout.write(
        f"{recording.seconds:.1f} s, {len(recording.outputs)} updates, longest gap {recording.longest_gap:.2f} s, "
        f"exit code {recording.exit_code}\n"
    )
    return recording.exit_code


if __name__ == "__main__":
    sys.exit(main())
