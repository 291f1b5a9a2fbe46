"""Which pending operations keep maintenance out: those that stay, not those that a busy server begins and ends."""

from itertools import count

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.errors import RecoveryRequired
from omnigraph.maintenance import admission
from omnigraph.writes.pending import PendingOperation
from support import harbor


@pytest.fixture
def context(tmp_path):
    return omnigraph.init(str(tmp_path / "graph.omni"), harbor.SCHEMA)._context


@pytest.fixture
def clock_at(monkeypatch):
    """Let time pass only while somebody sleeps."""
    now = [0.0]
    monkeypatch.setattr(clock, "monotonic_seconds", lambda: now[0])
    monkeypatch.setattr(clock, "sleep_seconds", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


def pending(operation_id):
    return PendingOperation(operation_id=operation_id, sidecar=None, problem=None, content=b"")


def test_a_server_that_has_another_write_at_each_look_keeps_nobody_out(context, clock_at, monkeypatch):
    number = count()
    monkeypatch.setattr(admission, "list_pending", lambda _: [pending(f"op-{next(number)}")])
    monkeypatch.setattr(admission, "_has_live_writer", lambda *_: True)

    admission.require_settled(context, "optimize")

    assert clock_at[0] < 1.0


def test_one_that_stays_counts_after_ten_seconds_and_is_the_only_one_named(context, clock_at, monkeypatch):
    number = count()
    monkeypatch.setattr(admission, "list_pending", lambda _: [pending("slow"), pending(f"op-{next(number)}")])
    monkeypatch.setattr(admission, "_has_live_writer", lambda *_: True)

    with pytest.raises(RecoveryRequired, match="slow") as refused:
        admission.require_settled(context, "optimize")

    assert refused.value.details == {"operation_ids": ["slow"]}
    assert 10.0 <= clock_at[0] < 11.0


def test_one_without_a_writer_counts_on_the_second_look(context, clock_at, monkeypatch):
    monkeypatch.setattr(admission, "list_pending", lambda _: [pending("abandoned")])
    monkeypatch.setattr(admission, "_has_live_writer", lambda *_: False)

    with pytest.raises(RecoveryRequired, match="abandoned"):
        admission.require_settled(context, "optimize")

    assert clock_at[0] < 1.0


def test_one_that_ends_in_time_does_not_count(context, clock_at, monkeypatch):
    monkeypatch.setattr(admission, "list_pending", lambda _: [pending("quick")] if clock_at[0] < 5.0 else [])
    monkeypatch.setattr(admission, "_has_live_writer", lambda *_: True)

    admission.require_settled(context, "optimize")
