"""Arming fail points inside this process; child processes get theirs from the environment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from omnigraph.base import faults


class Died(BaseException):
    """Raised where the action is `die`: no handler of errors sees it, so that what is left looks like after a kill."""


@contextmanager
def armed(setting: str | None) -> Iterator[None]:
    """Arm one fail point until the block ends, spelled as in `OMNIGRAPH_FAILPOINT`; None arms nothing.

    `die` stands in for `kill`. Locks are given back on the way out, as the system does for a dead process.
    """
    was_armed, act = faults._armed, faults._act

    def act_or_die(name: str, action: str) -> None:
        if action == "die":
            raise Died(name)
        act(name, action)

    faults._armed = faults._Armed(setting) if setting is not None else None
    faults._act = act_or_die
    try:
        yield
    finally:
        faults._armed, faults._act = was_armed, act


@contextmanager
def once_at(point: str, action: Callable[[], object]) -> Iterator[None]:
    """Do something the first time the write protocol passes a point."""
    passed: list[str] = []

    def reach(name: str) -> None:
        passed.append(name)
        if name == point and passed.count(name) == 1:
            action()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "reach", reach)
        yield
    assert point in passed
