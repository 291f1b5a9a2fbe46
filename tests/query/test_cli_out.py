"""`omnigraph query --out` and `--engine spark`."""

import json

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.usefixtures("workplace")

READ = "match { $a: Artist } return { $a.name as name } order { name }"


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.json", "rows.jsonl", "rows.txt"])
def test_rows_go_to_a_new_file_in_the_form_that_its_name_says(run, art, seed_files, name):
    expected = [row["name"] for row in run("query", art, "-e", READ, "--json").document["rows"]]

    ran = run("query", art, "-e", READ, "--out", name)

    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"wrote {len(expected)} row")
    path = seed_files / name
    match path.suffix:
        case ".parquet":
            assert pq.read_table(path)["name"].to_pylist() == expected
        case ".json":
            assert [row["name"] for row in json.loads(path.read_text())["rows"]] == expected
        case ".jsonl":
            assert [json.loads(line)["name"] for line in path.read_text().splitlines()[1:]] == expected
        case _:
            assert [line.strip() for line in path.read_text().splitlines() if line.strip() in expected] == expected


def test_what_is_there_stays_and_unknown_names_are_refused(run, art, seed_files):
    (seed_files / "there.csv").write_text("mine")

    taken, unknown, nowhere = (
        run("query", art, "-e", READ, "--out", name) for name in ("there.csv", "rows.doc", "no/where.csv")
    )

    assert [ran.code for ran in (taken, unknown, nowhere)] == [2, 2, 2]
    assert "already" in taken.err
    assert "--format" in unknown.err
    assert "no directory" in nowhere.err
    assert (seed_files / "there.csv").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_command_asks_spark_where_it_is_told_to(run, art, spark):
    here, there = (run("query", art, "-e", READ, "--json", *flags) for flags in ((), ("--engine", "spark")))

    assert there.code == 0, there.err
    assert there.document == here.document


@pytest.mark.parametrize("name", [f"{'x' * 250}.csv", f"{'x' * 250}.parquet"])
def test_a_file_that_cannot_be_written_is_named(run, art, tmp_path, name):
    ran = run("query", art, "-e", "match { $a: Artist } return { $a.name }", "--out", str(tmp_path / name))

    assert ran.code == 1
    assert "cannot be written" in ran.err
    assert list(tmp_path.glob(".x*")) == []
