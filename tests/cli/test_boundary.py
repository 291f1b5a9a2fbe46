"""What ends a run from outside, in real processes: full and closed streams, interrupts, panics, absurd places."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

READING = (
    ("snapshot", "art.omni", "--json"),
    ("commit", "list", "art.omni"),
    ("export", "art.omni"),
    ("version",),
    ("--help",),
)


def run_shell(program: str, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f'"$0" {line}', program], capture_output=True, encoding="utf-8", timeout=120, check=False
    )


@pytest.mark.parametrize("words", READING, ids=" ".join)
@pytest.mark.parametrize(
    ("redirection", "reason", "code"), [(">/dev/full", "No space left", 1), (">&-", "standard output is closed", 141)]
)
def test_a_result_that_cannot_be_printed_is_one_line_and_a_failure(
    shown_art, program, words: tuple[str, ...], redirection: str, reason: str, code: int
) -> None:
    ran = run_shell(program, f"{' '.join(words)} {redirection}")

    assert ran.returncode == code
    lines = [line for line in ran.stderr.splitlines() if line.startswith(("error", "Trace", "Exception"))]
    assert len(lines) == 1
    assert lines[0].startswith("error: the result could not be printed: ")
    assert reason in lines[0]


def test_health_keeps_its_low_codes_to_itself(shown_art, program) -> None:
    assert run_shell(program, "health art.omni >/dev/full").returncode == os.EX_SOFTWARE


def test_an_error_that_cannot_be_printed_as_a_document_keeps_its_exit_code(shown_art, program) -> None:
    ran = run_shell(program, "snapshot art.omni --no-such-flag --json >/dev/full")

    assert ran.returncode == 2
    assert ran.stderr.startswith("error: `omnigraph snapshot` has no flag --no-such-flag")


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", "<&-", "2>&- <&-"])
def test_a_stderr_that_takes_nothing_stops_nothing(art, program, redirection: str) -> None:
    ran = run_shell(program, f"load --data more.jsonl --mode merge art.omni --json {redirection}")

    assert ran.returncode == 0
    assert '"total_rows": 1' in ran.stdout
    assert ran.stderr == "" or "<&-" in redirection


def test_a_graph_is_never_printed_into(art, program) -> None:
    """A file that is opened while stdout is closed would get its descriptor, and the result with it."""
    before = {path: path.read_bytes() for path in Path(art).rglob("*") if path.is_file()}

    run_shell(program, "snapshot art.omni >&- 2>&- <&-")

    assert {path: path.read_bytes() for path in Path(art).rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("module", ["click", "omnigraph.cli.app", "omnigraph.errors", "lance"])
def test_an_interrupt_while_modules_are_imported_ends_with_130_and_one_line(shown_art, module: str) -> None:
    """A finder in front of all others sends the signal when the module is first asked for."""
    script = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['omnigraph', 'snapshot', 'art.omni']\n"
        "from omnigraph.cli.main import main\n"
        "sys.exit(main())\n"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)

    assert ran.returncode == 130
    assert ran.stdout == ""
    assert ran.stderr == "error: interrupted\n"


def test_an_interrupt_of_the_interpreter_that_ends_prints_nothing(shown_art) -> None:
    script = (
        "import atexit, os, signal, sys\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv = ['omnigraph', 'version']\n"
        "from omnigraph.cli.main import main\n"
        "sys.exit(main())\n"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)

    assert ran.returncode == -signal.SIGINT
    assert ran.stderr == ""


def test_an_address_that_is_a_file_is_no_graph(shown_art, run, seed_files: Path) -> None:
    for words in (
        ("snapshot", "seed.jsonl"),
        ("health", "seed.jsonl"),
        ("load", "--data", "seed.jsonl", "--mode", "merge", "seed.jsonl"),
        ("optimize", "seed.jsonl"),
        ("recover", "seed.jsonl"),
        ("init", "--schema", "art.pg", "seed.jsonl"),
        ("init", "--schema", "art.pg", "seed.jsonl/below"),
        ("snapshot", "seed.jsonl/below"),
    ):
        ran = run(*words)

        assert ran.code in {1, 2, os.EX_SOFTWARE}, words
        assert "defect in omnigraph" not in ran.err, words
        assert "seed.jsonl" in ran.err, words
    assert seed_files.joinpath("seed.jsonl").read_text(encoding="utf-8").count("\n") == 4


def test_an_output_where_nothing_can_be_written_is_named(shown_art, run, workplace: Path) -> None:
    workplace.joinpath("file").write_text("mine", encoding="utf-8")
    for out in ("/proc/nowhere/out.jsonl", "file/out.jsonl", "/proc/nowhere/out/", "missing/dir/out.jsonl"):
        for words in (
            ("export", "art.omni", "--out", out),
            ("changes", "baseline", "--out", out, "--store", "art.omni"),
        ):
            ran = run(*words)

            assert ran.code in {0, 1}, (words, ran.err)
            assert "defect in omnigraph" not in ran.err, (words, ran.err)
            if ran.code:
                assert out.rstrip("/").rpartition("/")[0] in ran.err, (words, ran.err)
    assert workplace.joinpath("file").read_text(encoding="utf-8") == "mine"


@pytest.fixture
def odd_days(art) -> str:
    """A graph whose files say that they were made before there were files, and after everybody is gone."""
    for number, path in enumerate(sorted(Path(art).rglob("*"))):
        seconds = (-62_135_596_800, 0, 253_402_300_799, 8_000_000_000_000)[number % 4]
        try:
            os.utime(path, (seconds, seconds))
        except OSError:  # a file system need not know such years
            os.utime(path, (0, 0))
    return art


@pytest.mark.parametrize(
    "words",
    [
        ("snapshot",),
        ("health",),
        ("commit", "list"),
        ("cleanup",),
        ("cleanup", "--older-than", "7d"),
        ("optimize", "--dry-run"),
        ("repair",),
        ("recover",),
    ],
    ids=" ".join,
)
def test_absurd_times_of_files_stop_nothing(odd_days, run, words: tuple[str, ...]) -> None:
    ran = run(*words, odd_days)

    assert ran.code == 0 or words == ("health",), ran.err
    assert "defect in omnigraph" not in ran.err


ODD_CLOCK = """
import sys, time, datetime
year, art = int(sys.argv[1]), sys.argv[2]
odd = int((datetime.datetime(year, 6, 1) - datetime.datetime(1970, 1, 1)).total_seconds())
start = time.monotonic_ns()
time.time_ns = lambda: odd * 10**9 + time.monotonic_ns() - start
time.time = lambda: time.time_ns() / 1e9
from omnigraph.cli.main import main
for words in (
    ("load", "--data", "more.jsonl", "--mode", "merge", art),
    ("commit", "list", art),
    ("snapshot", art),
    ("branch", "create", f"in-{year}", "--store", art),
    ("health", art),
    ("optimize", art),
    ("cleanup", art, "--older-than", "7d"),
    ("cleanup", art, "--keep", "1", "--confirm"),
    ("recover", "--list", art),
):
    main(words)
"""


@pytest.mark.parametrize("year", [1, 1969, 2262, 9999])
def test_absurd_clocks_make_no_stack_trace(art, year: int) -> None:
    """The host's clock is far off: everything goes on or says in one line why not."""
    ran = subprocess.run(
        [sys.executable, "-c", ODD_CLOCK, str(year), art], capture_output=True, text=True, timeout=300, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "defect in omnigraph" not in ran.stderr


@pytest.mark.parametrize(("line", "code"), [(("version",), 0), (("snapshot", "--nonsense"), 2)])
def test_the_program_ends_at_once_but_not_before_others_had_their_say(line, code, tmp_path):
    """It takes no module apart, which Python would; what was registered for the end runs, and all output is out."""
    script = (
        "import atexit, sys\n"
        "from omnigraph.cli.main import program\n"
        "class Loud:\n"
        "    def __del__(self): print('taken apart', flush=True)\n"
        "loud = Loud()\n"
        "atexit.register(lambda: print('said at the end'))\n"
        f"sys.argv = ['omnigraph', *{line!r}]\n"
        "program()\n"
    )

    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines()[-1] == "said at the end"
    assert bool(done.stderr) is bool(code)
