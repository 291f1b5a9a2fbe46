from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _workplace(workplace: Path) -> Path:
    """No test of the command line sees the files and the configuration of whoever runs it."""
    return workplace
