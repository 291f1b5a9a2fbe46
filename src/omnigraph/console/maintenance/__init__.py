"""The parts of the maintenance page."""
