"""From where on something is worth a word: numbers that `health` judges by and `maintain` acts on."""

from typing import Final

INTERNAL_FRAGMENTS_MAX: Final = 50
RECLAIMABLE_BYTES_MIN: Final = 64 << 20
RECLAIMABLE_SHARE: Final = 0.5
"""Of the live data: what cleanup would remove is told of from so much on."""
