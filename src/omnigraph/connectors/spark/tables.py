"""Tables of Spark's catalog: `CREATE TABLE … USING omnigraph OPTIONS (…)`.

Spark shows a source the options of a table when the table is made, and only its columns whenever it is asked. So the
options are written down with the first column, as its metadata, which nobody sees and the catalog keeps.
"""

import json
from collections.abc import Mapping
from typing import Any

from omnigraph.connectors.spark.options import Options
from omnigraph.errors import Usage
from omnigraph.storage.settings import CREDENTIAL_OPTIONS

_KEY = "omnigraph.options"
_ONLY_OF_TABLES = "provider"


def is_new_table(options: Mapping[str, str]) -> bool:
    """Whether Spark asks for the columns of a table that is being made."""
    return any(name.lower() == _ONLY_OF_TABLES for name in options)


def remembering(schema: Any, options: Options) -> Any:
    """Return the columns of a new table with its options written down; credentials are refused, catalogs are read."""
    from pyspark.sql.types import StructField, StructType

    secret = next((name for name in CREDENTIAL_OPTIONS if options.is_given(name)), None)
    if secret is not None:
        raise Usage(
            f"A table keeps its options where others read them, so {secret} cannot be one of them; set "
            f"{secret.upper()} in the environment of the workers.",
            flag=secret,
        )
    first, *others = schema.fields
    kept = {**(first.metadata or {}), _KEY: json.dumps(dict(options.values))}
    return StructType([StructField(first.name, first.dataType, first.nullable, kept), *others])


def remembered(schema: Any) -> dict[str, str]:
    """Return the options that were written down with the columns of a table."""
    for field in schema.fields:
        if _KEY in (field.metadata or {}):
            found: dict[str, str] = json.loads(field.metadata[_KEY])
            return found
    raise Usage(
        "Nothing says which graph to read: Spark forgets the options of a table whose columns are listed. Make the "
        "table without a list of columns."
    )
