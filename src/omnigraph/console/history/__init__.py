"""The parts of the History page: what is pure stands apart from what draws."""
