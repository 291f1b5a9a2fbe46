"""How values become ids: the canonical spelling of a value, and the id of a keyed node.

This is the only implementation. Loads, mutations, exports and `@unique` all compare what it returns, so its output is
part of the storage format: a change here would change the ids of existing graphs.
"""

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.arrow import arrow_form
from omnigraph.catalog.model import NodeType, PropertyType
from omnigraph.catalog.scalars import FLOATS
from omnigraph.errors import Internal

# What a JSON string cannot hold unescaped.
_NEEDS_ESCAPE = r'["\\\x00-\x1f]'


def spell_column(array: pa.Array, property_type: PropertyType) -> pa.Array:
    """Spell stored scalars canonically as strings; null stays null.

    `array` has the column's own Arrow type, so that a value is spelled at its stored width.
    """
    if property_type.scalar in FLOATS:
        return _spell_floats(array)
    carrier = arrow_form(property_type.scalar).carrier
    return (array if carrier is None else array.cast(carrier)).cast(pa.string())


def derive_ids(table: pa.Table, node: NodeType) -> pa.Array:
    """Return the ids that the key columns of `table` give its rows; null where a member is null.

    A single key is its own spelling. A composite key is a compact JSON array of the members' spellings, in the order
    of their property ids, which no rename changes.
    """
    if node.key is None:
        raise Internal(f"node {node.name} has no key to derive ids from")
    spelled = [
        spell_column(table[name].combine_chunks(), node.property_by_name[name].type) for name in node.key.properties
    ]
    if len(spelled) == 1:
        return spelled[0]
    quoted = pc.binary_join_element_wise(*map(_quote, spelled), ",")
    return pc.binary_join_element_wise("[", quoted, "]", "")


def _spell_floats(array: pa.Array) -> pa.Array:
    if not pc.all(pc.is_finite(array), min_count=0).as_py():
        raise Internal("a value that is not finite has no canonical spelling; writes should have refused it")
    # Arrow prints the shortest digits that read back as the same float of this width, but with an exponent for the
    # very large and very small, and it keeps the sign of zero.
    printed = array.cast(pa.string())
    odd = pc.or_(pc.match_substring(printed, "e"), pc.equal(printed, "-0"))
    corrected = [_positional(text) for text in pc.filter(printed, odd).to_pylist()]
    return pc.replace_with_mask(printed, odd, pa.array(corrected, pa.string()))


def _positional(text: str) -> str:
    return "0" if text == "-0" else format(Decimal(text), "f")


def _quote(spelled: pa.Array) -> pa.Array:
    plain = pc.binary_join_element_wise('"', spelled, '"', "")
    odd = pc.match_substring_regex(spelled, _NEEDS_ESCAPE)
    escaped = [json.dumps(text, ensure_ascii=False) for text in pc.filter(spelled, odd).to_pylist()]
    return pc.replace_with_mask(plain, odd, pa.array(escaped, pa.string()))
