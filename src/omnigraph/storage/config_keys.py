"""Configuration keys of Lance tables that this program knows."""

from typing import Final

AUTO_CLEANUP_PREFIX: Final = "lance.auto_cleanup."
"""While keys with this prefix are stored, Lance deletes old versions inside any commit, pinned ones included."""
