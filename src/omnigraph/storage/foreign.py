"""Lance datasets that are not tables of a graph: input that somebody hands in, output that somebody asked for."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.storage.blob_columns import DESCRIBED, BlobForm, blob_columns, read_blobs, read_schema
from omnigraph.storage.keyed import DATA_STORAGE_VERSION
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot, is_bucket_uri


class ForeignDataset:
    """One version of a dataset, the newest if none is named, to be read."""

    def __init__(
        self, uri: str, version: int | None = None, *, storage_options: Mapping[str, str] | None = None
    ) -> None:
        import lance

        self._uri = uri
        with self._reading():
            self._dataset = lance.dataset(uri, version=version, storage_options=_options(uri, storage_options))

    @property
    def version(self) -> int:
        """Which version it is."""
        return int(self._dataset.version)

    def rows_by_fragment(self) -> dict[int, int]:
        """Return how many rows each fragment has, in the order in which `scan` reads them."""
        with self._reading():
            return {fragment.fragment_id: fragment.count_rows() for fragment in self._dataset.get_fragments()}

    def scan(self, fragment_ids: Sequence[int] | None = None) -> pa.RecordBatchReader:
        """Stream all rows, or those of some fragments; blobs come as `blob_columns.PARTS`, older ones as binary."""
        with self._reading():
            fragments = self._dataset.get_fragments()
            chosen = [found for found in fragments if fragment_ids is None or found.fragment_id in fragment_ids]
            blobs = blob_columns(self._dataset.schema)
            if not blobs:
                return self._dataset.scanner(fragments=chosen, blob_handling="all_binary").to_reader()
            reader = self._dataset.scanner(fragments=chosen, **DESCRIBED).to_reader()
        schema = read_schema(reader.schema, blobs, BlobForm.PARTS)
        rows = read_blobs(self._dataset, reader, schema, blobs, BlobForm.PARTS)
        return pa.RecordBatchReader.from_batches(schema, rows)

    def _reading(self) -> Any:
        return translated(doing=f"reading {self._uri}", uri=self._uri)


def write_foreign_files(uri: str, rows: pa.RecordBatchReader) -> tuple[str, ...]:
    """Write rows as data files of a dataset that does not exist yet; return what its commit needs to know of them.

    Any number of workers may do so for one dataset, and a repeated task writes files of other names.
    """
    from lance.fragment import write_fragments

    with translated(doing=f"writing {uri}", uri=uri):
        written = write_fragments(
            rows, uri, mode="create", data_storage_version=DATA_STORAGE_VERSION, storage_options=_options(uri, None)
        )
    return tuple(json.dumps(fragment.to_json()) for fragment in written)


def commit_foreign_dataset(uri: str, schema: pa.Schema, fragments: Sequence[str]) -> None:
    """Make a dataset of plain columns out of files that were written for it, with the rows in their order.

    Files of attempts that do not count are removed where that is a matter of a directory; in a bucket they stay, and
    no reader looks at them.
    """
    import lance
    from lance.fragment import FragmentMetadata

    options = _options(uri, None)
    with translated(doing=f"writing {uri}", uri=uri):
        if not fragments:
            lance.write_dataset(
                schema.empty_table(), uri, data_storage_version=DATA_STORAGE_VERSION, storage_options=options
            )
            return
        # Every worker counts its own files from 0.
        described = [
            replace(FragmentMetadata.from_json(fragment), id=number) for number, fragment in enumerate(fragments)
        ]
        lance.LanceDataset.commit(uri, lance.LanceOperation.Overwrite(schema, described), storage_options=options)
    if not is_bucket_uri(uri):
        counted = {file.path for fragment in described for file in fragment.files}
        for path in Path(uri, "data").iterdir():
            if path.name not in counted:
                path.unlink()


def _options(uri: str, storage_options: Mapping[str, str] | None) -> dict[str, str] | None:
    return StoreSettings.resolve(GraphRoot.parse(uri), storage_options, os.environ).lance_options
