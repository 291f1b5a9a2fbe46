"""The parameters of a query as callers give them: by name, in a mapping, or some in one way and some in the other."""

from collections.abc import Mapping

from omnigraph.errors import InvalidTarget


def values_together(params: Mapping[str, object] | None, values: Mapping[str, object]) -> Mapping[str, object]:
    """Put the parameters together that come in a mapping and by name; each of them comes once."""
    if not params:
        return values
    if not values:
        return params
    together = {**params, **values}
    if len(together) < len(params) + len(values):
        twice = sorted(params.keys() & values.keys())
        raise InvalidTarget(f"The parameter {twice[0]} is given by name and in params; give it once.")
    return together
