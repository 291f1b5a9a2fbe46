"""`load --type`: tables as a user names them, and what is refused before anything is opened."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def artists(art) -> str:
    with open("artists.csv", "w", encoding="utf-8") as file:  # noqa: PTH123 — the working directory is the test's
        file.write("full name,born,notes\nZoe,1950,x\nPia,,y\n")
    return art


def test_a_csv_file_with_renamed_columns_is_loaded(artists, run):
    ran = run(
        *("load", artists, "--data", "artists.csv", "--mode", "append", "--type", "Artist", "--json"),
        *("--map", "full name=name", "--map", "notes="),
    )

    assert ran.code == 0
    assert ran.document["tables"] == [{"table_key": "node:Artist", "rows_loaded": 2}]
    names = [json.loads(line)["data"]["name"] for line in run("export", artists, "--type", "Artist").out.splitlines()]
    assert names == ["Ines", "Pia", "Rémy", "Zoe"]


def test_edges_come_from_parquet(art, run):
    pq.write_table(pa.table({"work": ["Still Life"], "who": ["Rémy"]}), "by.parquet")

    ran = run(
        *("load", art, "--data", "by.parquet", "--mode", "append", "--type", "CreatedBy"),
        *("--map", "work=from", "--map", "who=to"),
    )

    assert (ran.code, ran.out.splitlines()[0].endswith("1 row across 0 node types and 1 edge type")) == (0, True)


def test_a_bad_cell_is_shown_with_its_file_and_row(artists, run):
    ran = run(
        *("load", artists, "--data", "artists.csv", "--mode", "append", "--type", "Artist"),
        *("--map", "full name=born", "--map", "born=name", "--map", "notes="),
    )

    assert ran.code == 1
    assert 'artists.csv:1: [wrong_type] Artist.born expects I32, got "Zoe"' in ran.err
    assert "artists.csv:2: [missing_required] Artist.name is required but null" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--data", "artists.csv"), 2, "--type"),
        (("--data", "seed.jsonl", "--map", "a=b"), 2, "--type"),
        (("--data", "artists.csv", "--type", "Artist", "--map", "nonsense"), 2, "COLUMN=PROPERTY"),
        (("--data", "artists.csv", "--type", "Artist", "--map", "a=b", "--map", "a=c"), 2, "twice"),
        (("--data", "artists.csv", "--type", "Ghost"), 1, "Ghost"),
        (("--data", "seed.jsonl", "--type", "Artist"), 1, ".parquet"),
        (("--data", "nothing.parquet", "--type", "Artist"), 1, "nothing.parquet"),
    ],
)
def test_what_does_not_fit_together_is_refused(artists, run, arguments, code, said):
    ran = run("load", artists, "--mode", "append", *arguments)

    assert ran.code == code
    assert said in ran.err
