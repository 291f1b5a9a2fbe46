"""Keeping a graph fast and small, next to live writers: every verb looks first, and says what it did."""
