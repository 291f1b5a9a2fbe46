"""Removing old versions: never one that somebody may still need, and never more than the preview said."""
