"""Reading the small files that flags name."""

from pathlib import Path

from omnigraph import errors


def read_text_file(path: str, *, what: str) -> str:
    """Read a UTF-8 file; `what` says in the error which file could not be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise errors.Io(f"The {what} {path} is not UTF-8 text (byte {error.start}).", path=path) from error
    except OSError as error:
        raise errors.Io(f"The {what} {path} cannot be read: {error.strerror}.", path=path) from error
