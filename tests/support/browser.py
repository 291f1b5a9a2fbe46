"""A real browser, and consoles to look at with it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

FoundT = TypeVar("FoundT")
PATIENCE_SECONDS = 20.0
WIDE, NARROW = 1280, 400


class Console:
    """A running console: its address with the key, and the one without."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process = process
        self.address = address
        self.root = address.partition("/ui/")[0]

    def at(self, path: str) -> str:
        """Return the address of a page."""
        return f"{self.root}/ui{path}"


@contextmanager
def running_console(*words: str, environ: Mapping[str, str] | None = None) -> Iterator[Console]:
    """Run `omnigraph ui` in a process of its own; give it when it listens."""
    command = [sys.executable, "-m", "omnigraph", "ui", *words, "--no-browser"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environ or {})},
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            assert process.stderr is not None
            raise AssertionError(f"the console did not start: {process.stderr.read()}")
        try:
            yield Console(process, address)
        finally:
            process.kill()


class Browser:
    """Headless Chromium; every look waits until what it looks for is there."""

    def __init__(self) -> None:
        options = ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
            options.add_argument(flag)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.resize(WIDE)

    def resize(self, width: int, height: int = 900) -> None:
        """Make the window as wide as a screen or a telephone."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def open(self, url: str) -> None:
        """Go to an address."""
        self.driver.get(url)

    def until(self, look: Callable[[], FoundT], what: str) -> FoundT:
        """Return the first answer that counts as true."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                found = look()
            except (StaleElementReferenceException, WebDriverException, IndexError):
                found = None  # type: ignore[assignment]
            if found:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come; the page says:\n{self.text()[:3_000]}")
            time.sleep(0.05)

    def see(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.until(lambda: text in self.text(), f"the text {text!r}")

    def text(self) -> str:
        """Return what the page shows."""
        return self.driver.find_element(By.TAG_NAME, "body").text

    def find(self, css: str) -> WebElement:
        """Wait for an element."""
        return self.until(lambda: self.driver.find_element(By.CSS_SELECTOR, css), f"the element {css}")

    def all(self, css: str) -> list[WebElement]:
        """Return every element that is there now."""
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def click(self, css: str) -> None:
        """Click on an element once it can be clicked."""

        def clicked() -> bool:
            self.driver.find_element(By.CSS_SELECTOR, css).click()
            return True

        self.until(clicked, f"a click on {css}")

    def press(self, label: str) -> None:
        """Click on the button or link that says a text."""
        said = f'"{label}"' if "'" in label else f"'{label}'"
        path = f"//*[(self::a or self::button or @role='tab') and (normalize-space(.)={said} or @aria-label={said})]"

        def clicked() -> bool:
            shown = [each for each in self.driver.find_elements(By.XPATH, path) if each.is_displayed()]
            if shown:
                shown[0].click()
            return bool(shown)

        self.until(clicked, f"a click on {label!r}")

    def open_fold(self, title: str) -> None:
        """Open what is folded under a title."""
        path = f"//*[contains(@class, 'q-expansion-item')]//*[@role='button'][contains(., '{title}')]"

        def clicked() -> bool:
            self.driver.find_element(By.XPATH, path).click()
            return True

        self.until(clicked, f"a click on {title!r}")

    def screenshot(self, path: Path, *, width: int, height: int = 900) -> None:
        """Take a picture of the page as it looks in a window of a width."""
        self.resize(width, height)
        time.sleep(0.8)
        self.driver.save_screenshot(str(path))
        self.resize(WIDE)

    def complaints(self) -> list[str]:
        """Return the errors that the browser's own log holds about the console it looks at, since the last look."""
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        here = "/".join(self.driver.current_url.split("/")[:3])
        severe = [entry["message"] for entry in log if entry["level"] == "SEVERE"]
        return [message for message in severe if message.startswith(here)]  # others have ended meanwhile

    def close(self) -> None:
        """End the browser."""
        self.driver.quit()
