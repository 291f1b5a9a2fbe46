"""A file format is declared in one place, for loads and for exports; an unknown one is an error, not another format."""

import pytest

from omnigraph.errors import Internal
from omnigraph.pipeline.export.parts import EXPORT_FORMATS, export_traits
from omnigraph.pipeline.export.request import ExportFormat
from omnigraph.pipeline.load.table_files import find_tables, is_table_path
from omnigraph.pipeline.load.table_formats import FORMATS, SUFFIXES, format_named, format_of_file, is_directory_table


@pytest.mark.parametrize("name", FORMATS)
def test_every_suffix_of_a_format_means_that_format(name: str) -> None:
    for suffix in FORMATS[name].suffixes:
        assert format_of_file(f"dir/some.table{suffix}") == name
        assert is_table_path(f"dir/t{suffix}/")
        assert is_directory_table(f"t{suffix}") is FORMATS[name].is_directory


@pytest.mark.parametrize("path", ["t.jsonl", "t.csv.zst", "t.orc", "csv", "t.lance.bak", "t."])
def test_other_files_are_no_tables(path: str) -> None:
    assert format_of_file(path) is None


def test_no_two_formats_share_a_suffix() -> None:
    assert len(SUFFIXES) == sum(len(found.suffixes) for found in FORMATS.values())


def test_a_file_that_is_no_table_is_refused_with_the_endings_that_are(tmp_path) -> None:
    from omnigraph.errors import Io
    from omnigraph.pipeline.load.sources import LocalInputs

    path = tmp_path / "t.orc"
    path.write_bytes(b"x")
    with pytest.raises(Io, match=r"ends in \.parquet, \.csv, \.csv\.gz, \.arrow, \.feather or \.lance\."):
        find_tables(str(path), "A", store=LocalInputs())


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(Internal, match="orc"):
        format_named("orc")
    with pytest.raises(Internal, match="orc"):
        export_traits("orc")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ExportFormat)
def test_every_export_format_names_its_files_apart(form: ExportFormat) -> None:
    traits = EXPORT_FORMATS[form]
    names = {traits.file_name(kind, "T", number, 2) for kind in ("node", "edge") for number in (0, 1)}
    assert len(names) == (2 if traits.is_dataset else 4)
