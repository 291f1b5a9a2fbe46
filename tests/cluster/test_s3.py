"""A cluster on S3, by what an operator types: from an empty folder to two graphs that are maintained and deleted."""

from pathlib import Path

import pytest

from omnigraph.base import ids
from omnigraph.cluster.lock import read_lock
from omnigraph.cluster.site import ClusterSite
from support.museums import ONE_GRAPH, TWO_GRAPHS, declare, write_museum
from support.program import SEED
from support.s3_process import BUCKET

pytestmark = [pytest.mark.s3, pytest.mark.usefixtures("workplace", "s3_root")]


def test_from_an_empty_folder_to_a_cluster_of_two_graphs(run, workplace: Path) -> None:
    storage = f"s3://{BUCKET}/{ids.new_ulid()}"
    write_museum(workplace / "museum", TWO_GRAPHS, storage=f"{storage}/")
    workplace.joinpath("seed.jsonl").write_text(SEED, encoding="utf-8")
    config = ("--config", "museum")
    assert run("cluster", "validate", *config).code == 0
    assert len(run("cluster", "plan", *config, "--json").document["changes"]) == 5
    assert run("cluster", "import", *config).code == 0
    applied = run("cluster", "apply", *config, "--json").document
    assert (applied["converged"], applied["applied_count"]) == (True, 5)
    assert run("cluster", "apply", *config, "--json").document["state_written"] is False

    graph = ("--cluster", "museum", "--graph", "artworks")
    assert run("load", f"{storage}/graphs/artworks.omni", "--data", "seed.jsonl", "--mode", "merge").code == 0
    site = ClusterSite.open(storage)
    assert read_lock(site) is None
    site.objects.delete_all(site.objects.list("resources"))
    optimized = run("optimize", *graph, "--json")
    cleaned = run("cleanup", *graph, "--keep", "1", "--confirm", "--yes", "--json")
    assert (optimized.code, cleaned.code) == (0, 0)
    assert f"{storage}/graphs/artworks.omni (direct, remote)" in optimized.err
    unknown = run("optimize", "--cluster", storage, "--graph", "artworkz")
    assert (unknown.code, "Applied: [archive, artworks]" in unknown.err) == (1, True)
    assert "2 graphs, [archive, artworks]" in run("optimize", "--cluster", storage).err

    assert "catalog_payload_missing" in run("cluster", "status", *config).out
    run("cluster", "refresh", *config)
    assert run("cluster", "apply", *config, "--json").document["converged"] is True
    declare(workplace / "museum", ONE_GRAPH, storage=storage)
    assert run("cluster", "approve", "graph.archive", *config, "--as", "act-ines").code == 0
    assert run("cluster", "apply", *config, "--json").document["converged"] is True
    assert ClusterSite.open(storage).read_ledger().ledger.graph_ids == ("artworks",)  # type: ignore[union-attr]
    assert run("snapshot", f"{storage}/graphs/archive.omni").code == 1
    assert run("query", f"{storage}/graphs/artworks.omni", "-e", "match { $a: Artist } return { $a.name }").code == 0
