"""The colours of the console: every text can be read on every ground it stands on."""

import re

import pytest

from omnigraph.console.theme import DARK, LIGHT

AA_TEXT = 4.5
TEXTS = ("ink", "soft", "accent", "good", "warn", "bad", "came", "went")
GROUNDS = ("page", "card", "hover")


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_meet_wcag_aa_on_every_ground(theme: str) -> None:
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", theme))

    poor = {
        f"{text} on {ground}": round(contrast(colours[text], colours[ground]), 2)
        for text in TEXTS
        for ground in GROUNDS
        if contrast(colours[text], colours[ground]) < AA_TEXT
    }

    assert poor == {}
    assert contrast(colours["on-accent"], colours["accent"]) >= AA_TEXT
