"""Random upserts, deletes, folds and compactions: through the index, past the index and by the model, one answer.

Pins lessons 69. Index answers over stable row ids have a history of being wrong, so they are treated as guilty.
"""

import random

import pytest
from lance.optimize import Compaction

from support.rewrites import task_by_hand


def rewrite_all(table) -> None:
    """Make one fragment of all, as optimize does: full text is whole before, the BTREE does not follow."""
    table.open().optimize.optimize_indices(index_names=["by_note"], num_indices_to_merge=2)
    dataset = table.open()
    if dataset.get_fragments():
        Compaction.commit(dataset, [task_by_hand(dataset, has_eager_remappable_index=False).execute(dataset)])


@pytest.mark.parametrize("seed", range(6))
def test_indexed_answers_equal_full_scans_and_the_model(table, seed):
    print(f"seed {seed}")
    chance = random.Random(seed)
    table.create("abc").create_scalar_index("age", "BTREE", name="by_age")
    table.open().create_scalar_index("note", "INVERTED", name="by_note")
    model = dict.fromkeys("abc", 0)

    for _ in range(25):
        letter, age = chance.choice("abcdefghij"), chance.randrange(3)
        step = chance.choice(["upsert", "upsert", "upsert", "delete", "fold", "compact", "rewrite", "rewrite and fold"])
        if step == "upsert":
            table.upsert(table.open(), letter, age=age, note=f"word{age}")
            model[letter] = age
        elif step == "delete":
            table.open().delete(f"id = '{letter}'")
            model.pop(letter, None)
        elif step == "fold":
            table.open().optimize.optimize_indices()
        elif step == "compact":
            table.open().optimize.compact_files()
        else:
            rewrite_all(table)
            if step == "rewrite and fold":
                table.open().optimize.optimize_indices(index_names=["by_age"], num_indices_to_merge=2)

        dataset = table.open()
        for age in range(3):
            expected = "".join(sorted(key for key, value in model.items() if value == age))
            scan = dataset.to_table(columns=["id"], filter=f"age = {age}", use_scalar_index=False)["id"].to_pylist()
            assert table.ids(dataset, where=f"age = {age}") == "".join(sorted(scan)) == expected, step
            if age > 0:
                found = dataset.to_table(columns=["id", "age"], full_text_query=f"word{age}")["id"].to_pylist()
                assert "".join(sorted(found)) == expected, step
