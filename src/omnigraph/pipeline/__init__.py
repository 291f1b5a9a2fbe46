"""Bulk data work: load, export, embed, fragment rewrite and index build, written once against `engine/`."""
