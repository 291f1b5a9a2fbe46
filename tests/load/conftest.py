"""Ways in which partitions of a frame become a commit, and what is looked through meanwhile."""

import pytest

from omnigraph.pipeline.load import frames
from omnigraph.pipeline.load.bulk import partitions
from omnigraph.storage.tables import Table


@pytest.fixture(params=["few", "together", "apart"])
def way(request, monkeypatch) -> str:
    """How partitions become a commit: as a small load, as pieces made of several of them, or each by itself."""
    if request.param == "together":
        monkeypatch.setattr(frames, "are_few", lambda _: False)
    if request.param == "apart":
        monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    return str(request.param)


@pytest.fixture
def whole_scans(monkeypatch) -> list[str]:
    """Tables that were looked through without any filter."""
    found: list[str] = []
    scan = Table.scan

    def watched(table, columns=None, **options):
        if options.get("where") is None and options.get("row_ids") is None and not table.address.path.startswith("__"):
            found.append(table.address.path)
        return scan(table, columns, **options)

    monkeypatch.setattr(Table, "scan", watched)
    return found
