"""A short soak: two servers, clients that do everything at once, kills; see `tests/soak/server.py` for a long one."""

from pathlib import Path

import pytest

from soak.server import soak


@pytest.mark.exhaustive
def test_nothing_that_was_acknowledged_is_lost(museum: str, tmp_path: Path) -> None:
    run = soak(museum, tmp_path, seconds=20, clients=12, pause=6.0)

    assert run.findings == []
    assert run.kills >= 2
    assert run.acknowledged
