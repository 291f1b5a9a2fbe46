"""Reading the small files that flags name."""

from pathlib import Path

from omnigraph import errors


def read_text_file(path: str, *, what: str, keeps_line_ends: bool = False) -> str:
    """Read a UTF-8 file; `what` says in the error which file could not be read.

    Other line ends become line feeds, unless the text is to be written again.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="" if keeps_line_ends else None) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise errors.Io(f"The {what} {path} is not UTF-8 text (byte {error.start}).", path=path) from error
    except OSError as error:
        raise errors.Io(f"The {what} {path} cannot be read: {error.strerror}.", path=path) from error
