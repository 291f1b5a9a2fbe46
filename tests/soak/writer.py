"""A writer of a soak: `python -m soak.writer <uri> <crew> <ledger> <seed>` writes until somebody kills it."""

import sys
from pathlib import Path
from random import Random

import omnigraph
from omnigraph.errors import OmniError
from soak.ledger import LedgerWriter, Outcome
from soak.operations import Intent, draw_intent


def main() -> None:
    uri, crew, path, seed = sys.argv[1:]
    chance = Random(seed)
    ledger = LedgerWriter(Path(path))
    graph = omnigraph.open(uri)
    while True:
        intent = draw_intent(chance, crew, ledger.next_number)
        ledger.intend(intent)
        ledger.conclude(attempt(graph, intent))


def attempt(graph: omnigraph.Graph, intent: Intent) -> Outcome:
    try:
        return Outcome(actor=intent.actor, commit=intent.carry_out(graph))
    except OmniError as error:
        return Outcome(actor=intent.actor, error=error.kind, effect=error.effect.value, message=str(error))
    except Exception as error:  # noqa: BLE001 — whatever it is, nobody expected it, and the checker must hear of it
        return Outcome(actor=intent.actor, error=type(error).__name__, effect="unknown", message=str(error))


if __name__ == "__main__":
    main()
