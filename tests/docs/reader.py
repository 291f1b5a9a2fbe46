"""A reader who follows one page: one directory, one shell, one Python, and the files the page tells them to save."""

import contextlib
import io
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.matching import Reading
from docs.pages import Block

_END = "--- end of command ---"
# A shell without a terminal says more about a killed command than the one people sit at.
_KILLED = re.compile(r"^bash: (?:line \d+: )? *\d+ Killed .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A line after `$ ` with the lines that continue it, and what the page says it prints."""

    line: str
    shown: str


class Shell:
    """One bash that keeps its directory, its variables and its last exit code from command to command."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def run(self, line: str) -> tuple[str, int]:
        """Run a command; return everything it printed, errors included, and its exit code."""
        # The exit code is put back at the end, so that a page can ask for it with `echo $?`.
        script = f"{{ {line}\n}} </dev/null\nstatus=$?; printf '\\n%s %d\\n' '{_END}' $status; (exit $status)\n"
        self._process.stdin.write(script)
        self._process.stdin.flush()
        printed = ""
        for text in self._process.stdout:
            if text.startswith(_END):
                return _KILLED.sub("Killed", printed.removesuffix("\n")), int(text.removeprefix(_END))
            printed += text
        raise AssertionError(f"the shell ended in the middle of `{line}`:\n{printed}")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class Reader:
    """Does what a page says, block by block, and compares what happens with what the page shows."""

    def __init__(self, directory: Path, shell: Shell, reading: Reading) -> None:
        self._directory = directory
        self._shell = shell
        self._reading = reading
        self._python: dict[str, Any] = {"__name__": "__main__"}

    def follow(self, blocks: list[Block]) -> int:
        """Follow all blocks; return how many examples ran."""
        ran = 0
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            if block.file_name is not None:
                self._save(block)
            elif block.language == "console":
                self._run_commands(block)
                ran += 1
            elif block.language == "python":
                self._run_python(block, following)
                ran += 1
        return ran

    def _save(self, block: Block) -> None:
        path = self._directory / block.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _run_commands(self, block: Block) -> None:
        commands = list(commands_of(block.text))
        assert commands, f"{block.place} is a console block without a command"
        for command, following in zip(commands, [*commands[1:], None], strict=True):
            printed, code = self._shell.run(self._reading.spell(command.line))
            self._compare(f"{block.place}: $ {command.line}", command.shown, printed)
            is_said = following is not None and following.line == "echo $?"
            assert code == 0 or is_said, (
                f"{block.place}: $ {command.line}\nends with {code}, which the page does not say"
            )

    def _run_python(self, block: Block, following: Block | None) -> None:
        shown = following.text if following is not None and following.language == "output" else ""
        code = compile(self._reading.spell(block.text), block.place, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self._python)
        self._compare(block.place, shown, printed.getvalue())

    def _compare(self, what: str, shown: str, printed: str) -> None:
        if not self._reading.agrees(shown, printed):
            raise AssertionError(f"{what}\n--- the page shows ---\n{shown}\n--- the run printed ---\n{printed}")


@contextmanager
def reader_in(directory: Path, *, known: dict[str, str]) -> Iterator[Reader]:
    """Seat a reader in an empty directory; `known` says what names on the page stand for here."""
    shell = Shell(directory)
    try:
        yield Reader(directory, shell, Reading(known))
    finally:
        shell.close()


def commands_of(text: str) -> Iterator[Command]:
    """Split a console block; a line that starts with `> ` continues the command above it."""
    line, shown = "", ""
    for text_line in text.splitlines(keepends=True):
        if text_line.startswith("$ "):
            if line:
                yield Command(line=line, shown=shown)
            line, shown = text_line[2:].rstrip("\n"), ""
        elif text_line.startswith("> ") and not shown:
            line += "\n" + text_line[2:].rstrip("\n")
        else:
            shown += text_line
    if line:
        yield Command(line=line, shown=shown)
