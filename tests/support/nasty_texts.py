"""Text that no door may let in: control characters, separators of lines, turned directions, halves of characters."""

from hypothesis import strategies as st

NASTY_CHARACTERS = (
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    "\u2028",
    "\u2029",
    *map(chr, range(0x202A, 0x202F)),
    *map(chr, range(0x2066, 0x206A)),
    "\ud800",
    "\udbff",
    "\udc00",
    "\udcff",
    "\udfff",
)

HALF_CHARACTERS = tuple(character for character in NASTY_CHARACTERS if "\ud800" <= character <= "\udfff")

plain = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=8)


def _holding(characters: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.tuples(plain, st.sampled_from(characters), plain).map("".join)


nasty = _holding(NASTY_CHARACTERS)
"""Any of the characters above, alone or in the middle of harmless text."""

halves = _holding(HALF_CHARACTERS)
"""Text that is no Unicode, which not even a value of a record may be."""
