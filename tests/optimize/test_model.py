"""Random histories and row widths: optimize changes no row, every index answers, and twice equals once."""

import tempfile
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.maintenance.optimize.costs import FOLD_SECONDS_MAX
from support import harbor, library
from support.library import BOOK

WIDTHS = {"narrow": 1, "wide": 3_000}
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6), st.sampled_from(sorted(WIDTHS))),
        st.tuples(st.just("update"), st.integers(0, 20), st.sampled_from(["early", "late"])),
        st.tuples(st.just("delete"), st.integers(0, 20), st.none()),
        st.tuples(st.just("optimize"), st.sampled_from([4, 1_000]), st.none()),
    ),
    min_size=3,
    max_size=9,
)


@settings(max_examples=6)
@given(steps, st.sampled_from([0.0, FOLD_SECONDS_MAX]))
def test_optimize_changes_no_row_and_a_second_run_finds_nothing(history, fold_seconds):
    """Without time to fold them, BTREEs are built on what is rewritten, as they are for large tables."""
    with (
        tempfile.TemporaryDirectory() as directory,
        patch("omnigraph.maintenance.optimize.budget.FOLD_SECONDS_MAX", fold_seconds),
    ):
        graph = library.library(f"{directory}/graph.omni", loads=2)
        next_number = 100
        for verb, amount, extra in history:
            if verb == "append":
                text = "early " + "w" * WIDTHS[extra]
                records = [library.book(next_number + turn, text) for turn in range(amount)]
                graph.load(harbor.lines(records), mode="append")
                next_number += amount
            elif verb == "optimize":
                graph.optimize(target_rows=amount, max_bytes_per_file=40_000)
            else:
                _change(graph, verb, amount, extra)
        before = harbor.content(graph)

        graph.optimize(target_rows=4, max_bytes_per_file=40_000, verify=True)
        again = graph.optimize(target_rows=4, max_bytes_per_file=40_000)

        assert harbor.content(graph) == before
        assert [table.table_key for table in again.tables if table.committed] == []
        assert sum(fragment.live_rows < 4 for fragment in library.layout(graph, BOOK).fragments) <= 1
        library.lookups_agree(graph)


def _change(graph, verb, position, word):
    ids = sorted(graph.snapshot().table("Book").to_arrow(["id"])["id"].to_pylist())
    if not ids:
        return
    chosen = ids[position % len(ids)]
    with graph.write() as batch:
        if verb == "delete":
            batch.delete("Book", ids=[chosen])
        else:
            batch.update("Book", {"title": f"{word} words"}, ids=[chosen])
