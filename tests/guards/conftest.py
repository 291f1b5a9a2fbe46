"""The table that the guards play with: tiny, keyed, and moved by raw pylance calls only."""

import uuid
from collections.abc import Sequence
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.fragment import FragmentMetadata, write_fragments


class Table:
    """A table below the test's directory.

    Row ids are given as a sequence of strings; "abc" means three rows. Every `open` has a session of its own, so that
    two handles know as little of each other as two processes would.
    """

    key = "lance-schema:unenforced-primary-key"
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata={key: "true"}),
            pa.field("age", pa.int64()),
            pa.field("note", pa.string()),
        ],
        metadata={"stamp": "4"},
    )

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def rows(self, ids: Sequence[str], *, age: int = 0, note: str = "") -> pa.Table:
        count = len(ids)
        return pa.table({"id": list(ids), "age": [age] * count, "note": [note] * count}, schema=self.schema)

    def create(self, *fragments: Sequence[str], schema: pa.Schema | None = None) -> lance.LanceDataset:
        """Write one fragment, and one version, per argument."""
        first, *others = fragments
        data = self.rows(first).cast(schema or self.schema)
        lance.write_dataset(data, self.uri, enable_stable_row_ids=True, data_storage_version="2.2")
        for ids in others:
            lance.write_dataset(self.rows(ids).cast(schema or self.schema), self.uri, mode="append")
        return self.open()

    def open(self, version: int | None = None) -> lance.LanceDataset:
        return lance.dataset(self.uri, version=version, session=lance.Session())

    def ref_uri(self, ref: str) -> str:
        return f"{self.uri}/tree/{ref}"

    def open_ref(self, ref: str, version: int | None = None) -> lance.LanceDataset:
        return lance.dataset(self.ref_uri(ref), version=version, session=lance.Session())

    def append(self, ids: Sequence[str], *, ref: str | None = None, note: str = "") -> lance.LanceDataset:
        uri = self.ref_uri(ref) if ref else self.uri
        return lance.write_dataset(self.rows(ids, note=note), uri, mode="append", session=lance.Session())

    def upsert(
        self, dataset: lance.LanceDataset, ids: Sequence[str], *, age: int = 1, note: str = "", use_index: bool = False
    ) -> dict[str, int]:
        """Merge rows the way `__manifest` is published: committed at once, without a retry."""
        builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        return builder.conflict_retries(0).use_index(use_index).execute(self.rows(ids, age=age, note=note))

    def stage(self, ids: Sequence[str], *, age: int = 0, note: str = "") -> list[FragmentMetadata]:
        """Write data files without committing them."""
        return write_fragments(self.rows(ids, age=age, note=note), self.uri, mode="append")

    def transaction(
        self, read_version: int, operation: lance.LanceOperation.BaseOperation, **properties: str
    ) -> lance.Transaction:
        return lance.Transaction(
            read_version=read_version, operation=operation, uuid=str(uuid.uuid4()), transaction_properties=properties
        )

    def commit(
        self, read_version: int, operation: lance.LanceOperation.BaseOperation, *, ref: str | None = None
    ) -> lance.LanceDataset:
        """Commit with `max_retries=0`, as every staged transaction of ours is."""
        uri = self.ref_uri(ref) if ref else self.uri
        return lance.LanceDataset.commit(uri, self.transaction(read_version, operation), max_retries=0)

    def ids(self, dataset: lance.LanceDataset | None = None, *, where: str | None = None) -> str:
        """Return the ids, sorted and joined; with ids of one letter a duplicate shows as a repeated letter."""
        found = (dataset or self.open()).to_table(columns=["id"], filter=where)["id"].to_pylist()
        return "".join(sorted(found))

    def row_ids(self, dataset: lance.LanceDataset | None = None) -> dict[str, int]:
        found = (dataset or self.open()).to_table(columns=["id"], with_row_id=True)
        return dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True))

    def versions(self) -> list[int]:
        return [version["version"] for version in self.open().versions()]

    def segments(self, dataset: lance.LanceDataset, name: str) -> list[lance.Index]:
        """Describe the segments of an index in the form that a transaction takes to remove them."""
        return [
            lance.Index(
                uuid=segment.uuid,
                name=name,
                fields=index.fields,
                dataset_version=segment.dataset_version_at_last_update,
                fragment_ids=segment.fragment_ids,
                index_version=segment.index_version,
            )
            for index in dataset.describe_indices()
            for segment in index.segments
            if index.name == name
        ]

    def files(self, pattern: str) -> set[str]:
        root = Path(self.uri)
        return {path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file()}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(str(tmp_path / "table"))
