"""The tokens of one person: `credentials` beside the operator config, readable by nobody else.

The file is text in sections, one per server. Only the lines of the section that is set or removed change; everything
else, comments and unknown keys included, is kept as it is.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from omnigraph import errors
from omnigraph.cli.operator_config import operator_home
from omnigraph.storage.flock import flock_within

_HEADER = re.compile(r"\s*\[(?P<name>[^\]]*)\]\s*$")
_TOKEN = re.compile(r"\s*token\s*=(?P<value>.*)$")
_QUOTES = ("'", '"')
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WAIT_SECONDS = 10.0


def credentials_path(environ: Mapping[str, str]) -> Path:
    """Return where the tokens are; the file need not exist."""
    return operator_home(environ) / "credentials"


def read_credentials(path: Path) -> str:
    """Return the text of the file, empty if there is none; refuse one that others may read or write."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if is_exposed(mode):
                raise exposed_credentials(path, mode)
            return file.read()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise errors.Io(
            f"The credentials file {path} is not UTF-8 text (byte {error.start}).", path=str(path)
        ) from None
    except OSError as error:
        raise errors.Io(f"The credentials file {path} cannot be read: {error.strerror}.", path=str(path)) from error


def exposed_credentials(path: Path, mode: int) -> errors.CredentialsPermissions:
    """Build the refusal of a file that others may read or write."""
    return errors.CredentialsPermissions(
        f"The credentials file {path} has mode {mode:04o}, so others can get at its tokens; run chmod 600 {path}",
        path=str(path),
        mode=f"{mode:04o}",
    )


def is_exposed(mode: int) -> bool:
    """Tell whether a file of this mode is open to anybody but its owner."""
    return bool(mode & _OTHERS)


def token_in(text: str, name: str) -> str | None:
    """Return the token of a server, unquoted; an empty one counts as absent, and of several the last one counts."""
    found = None
    for line in _lines_of(text, name):
        if (given := _TOKEN.match(line)) is not None:
            found = _unquoted(given["value"].strip())
    return found or None


def with_token(text: str, name: str, token: str) -> str:
    """Return the text with this token for a server, in its section if there is one, else in a new one at the end."""
    line = f"token = {_quoted(token)}\n"
    kept: list[str] = []
    is_set = False
    for section, old in _sectioned(text):
        if section != name or _TOKEN.match(old) is None:
            kept.append(old)
        if section == name and not is_set and _HEADER.match(old):
            kept[-1] = _ended(kept[-1])
            kept.append(line)
            is_set = True
    if is_set:
        return "".join(kept)
    before = _ended("".join(kept)) if kept else ""
    gap = "\n" if before and not before.endswith("\n\n") else ""
    return f"{before}{gap}[{name}]\n{line}"


def without_section(text: str, name: str) -> str:
    """Return the text without the section of a server."""
    return "".join(line for section, line in _sectioned(text) if section != name)


@contextmanager
def changing_credentials(path: Path) -> Iterator[None]:
    """Let one process at a time change the file: whoever else logs in meanwhile waits."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        if not flock_within(descriptor, wait_seconds=_WAIT_SECONDS):
            raise errors.Io(f"Another process is changing {path}; try again.", path=str(path))
        yield
    finally:
        os.close(descriptor)


def write_credentials(path: Path, text: str) -> None:
    """Replace the file at once by one that only its owner can read; call it inside `changing_credentials`."""
    # The file itself, where a link leads to it: people keep such files elsewhere.
    final = path.resolve()
    unfinished = final.with_name(f".{final.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)  # of a process that was killed here
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(final)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> errors.Io:
    return errors.Io(f"The credentials file {path} cannot be written: {error.strerror or error}.", path=str(path))


def _sectioned(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield every line, with its end, beside the section that it stands in; None before the first one."""
    section: str | None = None
    for line in text.splitlines(keepends=True):
        if (header := _HEADER.match(line)) is not None:
            section = header["name"].strip()
        yield section, line


def _lines_of(text: str, name: str) -> Iterator[str]:
    return (line.rstrip("\r\n") for section, line in _sectioned(text) if section == name)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _quoted(token: str) -> str:
    """Quote a token that reading would otherwise unquote."""
    if _unquoted(token) == token:
        return token
    return f"'{token}'" if token.startswith('"') else f'"{token}"'


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES:
        return value[1:-1].strip()
    return value
