"""Rewrites made by hand with raw pylance calls, for the tests that pin what Lance does with them."""

import json
from collections.abc import Sequence

import lance
import pyarrow as pa
from lance.optimize import Compaction, CompactionTask


def task_by_hand(
    dataset: lance.LanceDataset, fragment_ids: Sequence[int] | None = None, **changes: object
) -> CompactionTask:
    """Make a rewrite of the fragments of our choice, or of all; the options are spelled as the planner does."""
    scratch = lance.write_dataset(pa.table({"x": [1, 2]}), "memory://scratch", max_rows_per_file=1)
    options = json.loads(Compaction.plan(scratch, {}).tasks[0].json())["options"]
    chosen = [found for found in dataset.get_fragments() if fragment_ids is None or found.fragment_id in fragment_ids]
    document = {
        "task": {"fragments": [fragment.metadata.to_json() for fragment in chosen]},
        "read_version": dataset.version,
        "options": options | {"data_storage_version": "2.2"} | changes,
    }
    return CompactionTask.from_json(json.dumps(document))
