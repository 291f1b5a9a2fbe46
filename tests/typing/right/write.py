"""Write in a batch, and keep what it did."""

from datetime import date

from omnigraph import Graph


def promote(graph: Graph, names: list[str]) -> int:
    with graph.write(actor="act-ines", expected_head=graph.snapshot().commit_id) as batch:
        batch.insert("Sailor", [{"name": "Di", "born": date(2001, 2, 3), "photo": b"\x00"}])
        batch.update("Sailor", {"rank": "captain"}, ids=names).delete("Ship", where=[("tons", "<", 1.5)])
        batch.upsert("Mentors", [{"from": name, "to": "Di"} for name in names])
    commit = batch.result.commit
    return commit.graph_version if commit is not None else batch.result.affected_nodes
