"""Differences between annotations: metadata is for readers only, the rest may mean something to somebody."""

from collections import Counter

from omnigraph.catalog.canonical import annotation_document, canonical_json
from omnigraph.catalog.model import Annotation

_METADATA = frozenset({"description", "instruction"})


def metadata_differs(accepted: tuple[Annotation, ...], desired: tuple[Annotation, ...]) -> bool:
    """Tell whether a description or an instruction differs."""
    return not _METADATA.isdisjoint(_differing_names(accepted, desired))


def other_differences(accepted: tuple[Annotation, ...], desired: tuple[Annotation, ...]) -> list[str]:
    """Return the names of the differing annotations that are not metadata, sorted."""
    return sorted(_differing_names(accepted, desired) - _METADATA)


def _differing_names(accepted: tuple[Annotation, ...], desired: tuple[Annotation, ...]) -> set[str]:
    before, after = _spellings(accepted), _spellings(desired)
    return {name for name, _ in (before - after) + (after - before)}


def _spellings(annotations: tuple[Annotation, ...]) -> Counter[tuple[str, str]]:
    # Counted, because an annotation may be repeated; spelled, because Python takes 1, 1.0 and True for equal and the
    # stored schema does not.
    return Counter((found.name, canonical_json(annotation_document(found))) for found in annotations)
