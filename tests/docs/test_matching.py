"""The comparison that the examples rest on fails when it should."""

import pytest

from docs.matching import Reading
from docs.reader import Command, commands_of

SHOWN_ID, OTHER_SHOWN_ID = "01K8F3Q5V0000000000000000A", "01K8F3Q5V0000000000000000B"
ACTUAL_ID, OTHER_ACTUAL_ID = "01M7GFXJG3P4589PBS6WWQ4BK9", "01M7GFX9TQZBRW9W3XRJPYKW0N"


@pytest.mark.parametrize(
    ("shown", "printed", "agrees"),
    [
        ("two\nlines\n", "two\nlines\n", True),
        ("two\nlines\n", "two\nlines", True),
        ("two\nlines\n", "two\nlines\nand one more\n", False),
        ("", "something", False),
        ("something", "", False),
        ("1 row", "11 rows", False),
        ("path=nodes/…", "path=nodes/0001-0002", True),
        ("path=nodes/…", "path=edges/0001-0002", False),
        ("a … z", "a b\nc z", False),
        ("first\n…\nlast", "first\nb\nc\nlast", True),
        ("first\n…\nlast", "first\nb\nc\nlate", False),
        ("at 2026-01-15 09:30:00", "at 2031-07-15 23:59:59", True),
        ("at 2026-01-15 09:30:00", "at noon", False),
        ("since 2019-03-01", "since 2020-03-01", False),
        (f"{SHOWN_ID} load", f"{ACTUAL_ID} load", True),
        (f"{SHOWN_ID} load", "no id load", False),
        (f"{SHOWN_ID} {SHOWN_ID}", f"{ACTUAL_ID} {ACTUAL_ID}", True),
        (f"{SHOWN_ID} {SHOWN_ID}", f"{ACTUAL_ID} {OTHER_ACTUAL_ID}", False),
    ],
)
def test_a_page_agrees_only_with_what_it_shows(shown, printed, agrees):
    assert Reading({}).agrees(shown, printed) is agrees


def test_an_id_stands_for_the_same_one_on_the_whole_page():
    reading = Reading({})

    assert reading.agrees(f"made {SHOWN_ID}", f"made {ACTUAL_ID}")

    assert reading.spell(f"show {SHOWN_ID}") == f"show {ACTUAL_ID}"
    assert reading.agrees(f"{SHOWN_ID} and {OTHER_SHOWN_ID}", f"{ACTUAL_ID} and {OTHER_ACTUAL_ID}")
    assert not reading.agrees(SHOWN_ID, OTHER_ACTUAL_ID)


def test_a_console_block_is_split_into_commands_and_what_they_print():
    commands = list(commands_of("$ first\n> second half\nprinted\n$ echo $?\n1\n"))

    assert commands == [
        Command(line="first\nsecond half", shown="printed\n"),
        Command(line="echo $?", shown="1\n"),
    ]
