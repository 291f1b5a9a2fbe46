"""The example graph of the query language with its rows, as changed by mutations."""

import omnigraph
from omnigraph.graph import Graph
from support.graphs import edge, graph_of, node
from support.sailors import SCHEMA

CREW = [
    node("Sailor", name="Ana", rank="captain", age=50, tags=["ice", "nav"], bio="Arctic navigation and ice piloting"),
    node("Sailor", name="Bo", rank="mate", age=34, tags=["nav"], bio="Engine room, steam turbines"),
    node("Sailor", name="Cy", rank="deckhand"),
    node("Sailor", name="Di", rank="deckhand", age=22, tags=[], bio="Rigging; learning navigation"),
    node("Sailor", name="Ed", rank="mate", age=34, tags=["ice"], bio="Ice"),
    node("Ship", hull="S1", title="Northern Star", tons=1200.5, vec=[1, 0]),
    node("Ship", hull="S2", title="Star of the Sea", tons=800, vec=[0, 1]),
    node("Ship", hull="S3", title="Old Tub"),
    edge("Mentors", "Ana", "Bo", id="m1", since="2019-03-01"),
    edge("Mentors", "Ana", "Cy", id="m2"),
    edge("Mentors", "Bo", "Di", id="m3", since="2021-05-05"),
    edge("Mentors", "Di", "Bo", id="m4"),
    edge("Mentors", "Bo", "Bo", id="m5", since="2022-01-01"),
    edge("Mentors", "Ana", "Bo", id="m6", since="2020-06-15"),
    edge("ServesOn", "Ana", "S1", id="s1", berth=1),
    edge("ServesOn", "Bo", "S1", id="s2", berth=2),
    edge("ServesOn", "Cy", "S2", id="s3"),
]


def crew_graph(uri: str) -> Graph:
    """Create the example graph."""
    return graph_of(uri, SCHEMA, *CREW)


def change(graph: Graph, body: str, **options: object) -> omnigraph.MutationResult:
    """Run the statements of a query without parameters."""
    return graph.mutate(f"query q() {{ {body} }}", **options)  # type: ignore[arg-type]
