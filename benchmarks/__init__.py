"""Measurements as ratios against the raw libraries, in one run on the same data."""
