"""One browser for all tests of a worker, and one console over a small harbor that no test changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Browser, Console, running_console
from support.console_graphs import make_harbor


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="session")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_harbor(tmp_path_factory.mktemp("console") / "harbor.omni")


@pytest.fixture(scope="session")
def console(harbor: Path, browser: Browser) -> Iterator[Console]:
    """A console that the browser is signed in to; only for looking."""
    with running_console(str(harbor)) as running:
        browser.open(running.address)
        browser.see("harbor")
        yield running
