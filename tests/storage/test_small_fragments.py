"""Look-ups among hundreds of small fragments find what a scan of everything finds, at every version."""

import random

import lance
import pyarrow as pa
import pytest

from omnigraph.storage import small_fragments
from omnigraph.storage.small_fragments import KnownValues
from omnigraph.storage.tables import Table, TableAddress

ADDRESS = TableAddress("nodes/one")


def found(table: Table, column: str, values: list[str]) -> list[dict[str, object]]:
    return sorted(
        table.lookup(column, pa.array(values, pa.string()), ["id", "src"]).select(["id", "src"]).to_pylist(), key=str
    )


def scanned(table: Table, column: str, values: list[str]) -> list[dict[str, object]]:
    rows = table.dataset.to_table(columns=["id", "src"]).to_pylist()
    return sorted((row for row in rows if row[column] in values), key=str)


@pytest.mark.parametrize("values_max", [100_000, 20])
def test_look_ups_agree_with_a_scan_at_every_version(
    tmp_path, monkeypatch: pytest.MonkeyPatch, values_max: int
) -> None:
    monkeypatch.setattr(small_fragments, "FRAGMENTS_MIN", 4)
    monkeypatch.setattr(small_fragments, "_known", KnownValues(values_max))
    chance, uri = random.Random(values_max), str(tmp_path / "t")
    schema = pa.schema([("id", pa.string()), ("src", pa.string())])
    dataset = lance.write_dataset(
        pa.table({"id": [f"a{n}" for n in range(600)], "src": ["s0"] * 600}, schema=schema), uri
    )
    for turn in range(24):
        if turn % 6 == 5:
            dataset.delete(f"id = 'b{chance.randrange(turn)}'")
        else:
            rows = {"id": [f"b{turn}", f"c{turn}"], "src": [f"s{chance.randrange(5)}", None]}
            dataset = lance.write_dataset(pa.table(rows, schema=schema), uri, mode="append")
        table = Table(ADDRESS, lance.dataset(uri))
        for column, wanted in (("id", [f"b{chance.randrange(30)}", "a7"]), ("src", [f"s{chance.randrange(1, 6)}"])):
            assert found(table, column, wanted) == scanned(table, column, wanted)
    for version in range(1, dataset.latest_version + 1):
        table = Table(ADDRESS, lance.dataset(uri, version=version))
        wanted = [f"b{number}" for number in range(30)]
        assert found(table, "id", wanted) == scanned(table, "id", wanted)
        assert found(table, "id", ["nobody"]) == []
