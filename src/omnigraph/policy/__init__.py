"""Policies: bundles that grant actions to groups of actors, compiled to Cedar. Knows nothing of storage."""
