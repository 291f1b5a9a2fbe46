"""Lance datasets that are not tables of a graph: input that somebody hands in, output that somebody asked for."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from omnigraph.storage.keyed import DATA_STORAGE_VERSION
from omnigraph.storage.lance_errors import LanceFailure, classify, translated
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot


class ForeignDataset:
    """The newest version of a dataset, to be read."""

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        import lance

        self._uri = uri
        with self._reading():
            self._dataset = lance.dataset(uri, storage_options=_options(uri, storage_options))

    def scan(self) -> pa.RecordBatchReader:
        """Stream all rows; blobs come as plain binary."""
        with self._reading():
            return self._dataset.scanner(blob_handling="all_binary").to_reader()

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
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) is not LanceFailure.EXISTS:
                raise
            write("overwrite")


def _options(uri: str, storage_options: Mapping[str, str] | None) -> dict[str, str] | None:
    return StoreSettings.resolve(GraphRoot.parse(uri), storage_options, os.environ).lance_options
