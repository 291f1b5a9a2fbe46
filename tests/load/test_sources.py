"""What a load path means: which files, in which order, and what happens when one of them is broken."""

import gzip
import io
import os
from pathlib import Path
from typing import BinaryIO

import pytest
import zstandard

from omnigraph import errors
from omnigraph.pipeline.load.sources import InputReader, LocalInputs, StoredFile, find_inputs


def tree(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"{}\n")
    return root


def found(path: object) -> list[str]:
    return [file.name for file in find_inputs(str(path), store=LocalInputs())]


def read_all(path: Path) -> bytes:
    (file,) = find_inputs(str(path), store=LocalInputs())
    with InputReader(file, LocalInputs()) as reader:
        return b"".join(iter(lambda: reader.read(1000), b""))


def test_a_directory_is_searched_recursively_for_ndjson_plain_and_compressed(tmp_path):
    tree(tmp_path, "a.jsonl", "b/c.ndjson", "b/d.jsonl.gz", "e.ndjson.zst", "f.json", "g.csv", "h.jsonl.bz2")

    assert found(tmp_path) == ["a.jsonl", "b/c.ndjson", "b/d.jsonl.gz", "e.ndjson.zst"]


def test_hidden_and_underscored_names_are_ignored_at_every_level_of_a_directory(tmp_path):
    tree(tmp_path, "a.jsonl", "_x.jsonl", ".y.jsonl", "_temporary/0.jsonl", ".git/z.jsonl", "ok/_w.jsonl")

    assert found(tmp_path) == ["a.jsonl"]


def test_files_are_ordered_by_the_bytes_of_their_relative_paths(tmp_path):
    tree(tmp_path, "b.jsonl", "B.jsonl", "a/z.jsonl", "a.jsonl", "a0.jsonl", "é.jsonl", "z.jsonl")

    assert found(tmp_path) == ["B.jsonl", "a.jsonl", "a/z.jsonl", "a0.jsonl", "b.jsonl", "z.jsonl", "é.jsonl"]
    assert [file.index for file in find_inputs(str(tmp_path), store=LocalInputs())] == list(range(7))


@pytest.mark.parametrize("suffix", ["", "/", "/."])
def test_the_spelling_of_a_directory_does_not_change_the_names(tmp_path, suffix):
    tree(tmp_path, "a/b.jsonl")

    assert found(f"{tmp_path}{suffix}") == ["a/b.jsonl"]


def test_a_file_given_by_name_may_have_any_name(tmp_path):
    tree(tmp_path, "_records.json")

    (file,) = find_inputs(str(tmp_path / "_records.json"), store=LocalInputs())

    assert (file.name, file.size_bytes) == ("_records.json", 3)


def test_a_relative_path_is_searched_from_the_working_directory(tmp_path, monkeypatch):
    tree(tmp_path, "in/a.jsonl")
    monkeypatch.chdir(tmp_path)

    assert found("in") == found("./in") == found("in/*.jsonl") == ["a.jsonl"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.jsonl", ["a.jsonl", "b.jsonl"]),
        ("[ab].*", ["a.jsonl", "b.jsonl", "b.txt"]),
        ("?/*.jsonl", ["d/x.jsonl"]),
        ("**/*.jsonl", ["a.jsonl", "b.jsonl", "d/e/y.jsonl", "d/x.jsonl"]),
        ("d/**", ["e/y.jsonl", "x.jsonl"]),
        (".*.jsonl", [".h.jsonl"]),
    ],
)
def test_a_glob_matches_like_a_shell(tmp_path, pattern, expected):
    tree(tmp_path, "a.jsonl", "b.jsonl", "b.txt", ".h.jsonl", "d/x.jsonl", "d/e/y.jsonl")

    assert found(tmp_path / pattern) == expected


def test_a_file_whose_name_looks_like_a_glob_is_found_by_its_name(tmp_path):
    tree(tmp_path, "a[1].jsonl", "a1.jsonl")

    assert found(tmp_path / "a[1].jsonl") == ["a[1].jsonl"]


@pytest.mark.parametrize("path", ["missing.jsonl", "missing/", "*.jsonl", "empty", "_only"])
def test_nothing_found_is_an_error_that_names_the_path(tmp_path, path):
    tree(tmp_path, "_only/_a.jsonl", "_only/b.txt")
    (tmp_path / "empty").mkdir()

    with pytest.raises(errors.Io) as caught:
        find_inputs(f"{tmp_path}/{path}", store=LocalInputs())

    assert f"{tmp_path}/{path}" in caught.value.message
    assert caught.value.details == {"path": f"{tmp_path}/{path}"}


def test_a_dash_reads_standard_input():
    store = LocalInputs(io.BytesIO(b"line\n"))

    (file,) = find_inputs("-", store=store)
    with InputReader(file, store) as reader:
        content = reader.read(100)

    assert (file.name, file.size_bytes, content) == ("-", None, b"line\n")


def test_compressed_files_are_expanded_even_if_they_consist_of_several_members(tmp_path):
    text = os.urandom(300_000)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text) + gzip.compress(b"more"))
    compressor = zstandard.ZstdCompressor()
    (tmp_path / "a.jsonl.zst").write_bytes(compressor.compress(text) + compressor.compress(b"more"))

    assert read_all(tmp_path / "a.jsonl.gz") == text + b"more"
    assert read_all(tmp_path / "a.jsonl.zst") == text + b"more"


def damaged(packed: bytes) -> dict[str, bytes]:
    middle = len(packed) // 2
    return {
        "cut in the middle": packed[:middle],
        "cut near the end": packed[:-3],
        "changed in the middle": packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :],
        "not compressed at all": b'{"type":"Sailor"}\n',
    }


@pytest.mark.parametrize("damage", damaged(b"????"))
@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_damaged_compressed_file_is_one_error_that_names_it(tmp_path, suffix, damage):
    text = os.urandom(100_000)
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    packed = gzip.compress(text) if suffix == "gz" else compressor.compress(text)
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(damaged(packed)[damage])

    with pytest.raises(errors.Io) as caught:
        read_all(path)

    assert str(path) in caught.value.message
    assert {"gz": "gzip", "zst": "zstd"}[suffix] in caught.value.message
    assert caught.value.details == {"path": str(path)}


def test_a_file_that_vanished_is_an_error_that_names_it(tmp_path):
    path = tree(tmp_path, "a.jsonl") / "a.jsonl"
    (file,) = find_inputs(str(path), store=LocalInputs())
    path.unlink()

    with pytest.raises(errors.Io, match=r"a\.jsonl: No such file"):
        InputReader(file, LocalInputs())


class Bucket:
    """An object store reduced to what load asks of one."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    def list(self, prefix: str, *, depth: int | None = None) -> list[StoredFile]:
        below = prefix.rstrip("/") + "/"
        return [StoredFile(path=path, size_bytes=3) for path in self._paths if path == prefix or path.startswith(below)]

    def open(self, path: str) -> BinaryIO:
        return io.BytesIO(path.encode())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://b/in/", ["a.jsonl", "d/c.ndjson.gz"]),
        ("s3://b/in", ["a.jsonl", "d/c.ndjson.gz"]),
        ("s3://b/in/a.jsonl", ["a.jsonl"]),
        ("s3://b/*/*.jsonl", ["in/_x.jsonl", "in/a.jsonl", "other/a.jsonl"]),
        ("s3://b/**/*.gz", ["in/d/c.ndjson.gz"]),
    ],
)
def test_prefixes_and_globs_of_an_object_store_mean_the_same_as_directories(path, expected):
    store = Bucket("s3://b/other/a.jsonl", "s3://b/in/a.jsonl", "s3://b/in/d/c.ndjson.gz", "s3://b/in/_x.jsonl")

    assert [file.name for file in find_inputs(path, store=store)] == expected


def test_a_flat_glob_does_not_look_into_directories(tmp_path, monkeypatch):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    for place in (tmp_path, tmp_path / "a", deep):
        (place / "x.jsonl").write_text("{}")
    listed = []
    original = LocalInputs.list

    def watched(self, prefix, *, depth=None):
        for file in original(self, prefix, depth=depth):
            listed.append(file.path)
            yield file

    monkeypatch.setattr(LocalInputs, "list", watched)

    found = find_inputs(f"{tmp_path}/*/*.jsonl", store=LocalInputs())

    assert [file.name for file in found] == ["a/x.jsonl"]
    assert not [path for path in listed if "/b/" in path]
