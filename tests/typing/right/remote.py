"""Work on a graph behind a server, waiting and awaited."""

import omnigraph


def changed(url: str, token: str) -> str | None:
    with omnigraph.connect(url, token=token, graph="art") as graph:
        first = graph.query("match { $a: Artist } return { $a.name }", limit=3).rows()[0]
        done = graph.mutate_stored("add_artist", params={"name": first["a.name"]}, if_commit="01J")
        loaded = graph.load("more.jsonl", mode="merge")
        names: list[str] = graph.branches.list()
        size = sum(len(piece) for piece in graph.blob("Artist", "Ines", "portrait").pieces())
        with graph.export(types=["Artist"]) as pieces:
            data: bytes = b"".join(pieces)
        kinds = [one.kind for query in graph.stored_queries() for one in query.parameters]
    print(loaded.total_rows, names, size, data, kinds)
    return done.commit.graph_commit_id if done.commit is not None else None


async def followed(url: str) -> list[str]:
    async with omnigraph.connect_async(url, graph="art") as graph:
        page = await graph.changes.poll(start="beginning")
        head = page.blocks[0].cause.graph_commit_id
        return [change.id async for change in graph.changes.of_commit(head)]
