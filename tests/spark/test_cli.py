"""`omnigraph spark-sql`: answers in three forms, statements from the line and from standard input, errors in a line."""

import csv
import io
import os
import pty
import signal
import subprocess

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.usefixtures("workplace")]


def test_answers_come_as_a_table_as_json_and_as_csv(run, shown_art):
    question = "select name, born from Artist\norder by name"

    table = run("spark-sql", shown_art, "-e", question)
    document = run("spark-sql", "--store", shown_art, "--json", "-e", question)
    spelled = run("spark-sql", "--uri", shown_art, "--format", "csv", "-e", question)

    assert (table.code, table.out.splitlines()) == (0, ["name  born", "Ines  1907", "Rémy  null", "2 rows"])
    (answer,) = document.document["results"]
    assert answer["rows"] == [{"name": "Ines", "born": 1907}, {"name": "Rémy", "born": None}]
    assert [column["name"] for column in answer["columns"]] == ["name", "born"]
    assert list(csv.reader(io.StringIO(spelled.out))) == [["name", "born"], ["Ines", "1907"], ["Rémy", ""]]


def test_several_statements_over_one_snapshot(run, art):
    run("load", art, "--data", "more.jsonl", "--mode", "append")
    both = "select count(*) as n from Artist; select count(*) as n from CreatedBy c join Artwork w on w.id = c.src"

    now = run("spark-sql", art, "--json", "-e", both, "-e", "select 3 as n")
    then = run("spark-sql", art, "--snapshot", "main~1", "--format", "json", "-e", both)

    assert [answer["rows"][0]["n"] for answer in now.document["results"]] == [3, 1, 3]
    assert [answer["rows"][0]["n"] for answer in then.document["results"]] == [2, 1]


def test_a_table_ends_where_somebody_wants(run, shown_art):
    done = run("spark-sql", shown_art, "--limit", "2", "-e", "select * from range(5) order by id")

    assert done.out.splitlines()[-1].startswith("the first 2 rows; ")
    assert len(done.out.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("-e", "select agee from Artist"), 1, "agee"),
        (("-e", "select * from Artits"), 1, "Artits"),
        (("-e", "selct"), 1, "selct"),
        (("-e", " -- nothing"), 2, "no statement"),
        (("-e", "select 1", "--engine", "local"), 2, "runs on Spark"),
        (("-e", "select 1", "--branch", "nope"), 1, "nope"),
        (("--json", "-e", "select 1 as a, 2 as a"), 1, "Two columns are called a"),
    ],
)
def test_what_goes_wrong_is_one_sentence(run, shown_art, words, code, message):
    done = run("spark-sql", shown_art, *words)

    assert done.code == code
    (line,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert message in line
    assert "Traceback" not in done.err
    assert "JVM" not in line


def test_statements_are_read_from_standard_input(program, shown_art):
    done = subprocess.run(
        [program, "spark-sql", shown_art, "--format", "csv"],
        input="select count(*) as n\nfrom Artist; select ';' as m;\n-- end\n",
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "n\n2\nm\n;\n"), done.stderr


def test_somebody_at_a_terminal_is_answered_until_they_leave(program, shown_art):
    ours, theirs = pty.openpty()
    talk = subprocess.Popen(
        [program, "spark-sql", shown_art, "--format", "csv"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""

    def hears(words: bytes) -> bool:
        nonlocal said
        while words not in said:
            heard = os.read(talk.stdout.fileno(), 4096)
            if not heard:
                return False
            said += heard
        return True

    os.write(ours, b"select nothing from Artist;\nselect count(*) as n\nfrom Artist;\n")
    assert hears(b"n\n2\nspark-sql> "), said
    talk.send_signal(signal.SIGINT)
    assert hears(b"interrupted\nspark-sql> "), said
    os.write(ours, b"select 7 as seven;\n")
    assert hears(b"seven\n7\n"), said
    os.write(ours, b"\x04")

    assert talk.wait(timeout=60) == 0
    assert said.count(b"error: ") == 1
    assert b"Spark SQL over Artist, Artwork, CreatedBy; " in said
