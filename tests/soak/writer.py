"""A writer of a soak: `python -m soak.writer <uri> <crew> <ledger> <seed>` writes until somebody kills it.

All of them rest now and then. A merge needs a moment at which main stays as it is, and a schema changes only while
there is no branch.
"""

import sys
from pathlib import Path
from random import Random

import omnigraph
from omnigraph.base import clock
from omnigraph.errors import OmniError
from soak.ledger import LedgerWriter, Outcome
from soak.operations import Intent, draw_branch, draw_intent, draw_schema
from soak.places import open_graph

BRANCHES, SCHEMAS = "west", "wright"
_REST_SECONDS = {BRANCHES: 3.0, SCHEMAS: 2.0}
_SHORT_REST_SECONDS = 0.8


def main() -> None:
    uri, crew, path, seed = sys.argv[1:]
    chance = Random(seed)
    ledger = LedgerWriter(Path(path))
    draw = {BRANCHES: draw_branch, SCHEMAS: draw_schema}.get(crew, draw_intent)
    graph = open_graph(uri)
    while True:
        intent = draw(chance, crew, ledger.next_number)
        ledger.intend(intent)
        ledger.conclude(attempt(graph, intent))
        clock.sleep_seconds(chance.uniform(0.0, _REST_SECONDS.get(crew, _SHORT_REST_SECONDS)))


def attempt(graph: omnigraph.Graph, intent: Intent) -> Outcome:
    try:
        return Outcome(actor=intent.actor, commit=intent.carry_out(graph))
    except OmniError as error:
        return Outcome(actor=intent.actor, error=error.kind, effect=error.effect.value, message=str(error))
    except Exception as error:  # noqa: BLE001 — whatever it is, nobody expected it, and the checker must hear of it
        return Outcome(actor=intent.actor, error=type(error).__name__, effect="unknown", message=str(error))


if __name__ == "__main__":
    main()
