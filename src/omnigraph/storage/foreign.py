"""Lance datasets that are not tables of a graph: input that somebody hands in, output that somebody asked for."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.storage.keyed import DATA_STORAGE_VERSION
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, translated
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot


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
        """Stream all rows, or those of some fragments; blobs come as plain binary."""
        with self._reading():
            fragments = self._dataset.get_fragments()
            chosen = [found for found in fragments if fragment_ids is None or found.fragment_id in fragment_ids]
            return self._dataset.scanner(fragments=chosen, blob_handling="all_binary").to_reader()

    def _reading(self) -> Any:
        return translated(doing=f"reading {self._uri}", uri=self._uri)


def write_foreign_dataset(uri: str, rows: Callable[[], pa.RecordBatchReader]) -> None:
    """Write rows as a dataset with plain columns; a repeated task puts the same rows on top of its own."""
    import lance

    def write(mode: str) -> None:
        lance.write_dataset(
            rows(), uri, mode=mode, data_storage_version=DATA_STORAGE_VERSION, storage_options=_options(uri, None)
        )

    with translated(doing=f"writing {uri}", uri=uri):
        try:
            write("create")
        except lance_failures() as error:
            if classify(error) is not LanceFailure.EXISTS:
                raise
            write("overwrite")


def _options(uri: str, storage_options: Mapping[str, str] | None) -> dict[str, str] | None:
    return StoreSettings.resolve(GraphRoot.parse(uri), storage_options, os.environ).lance_options
