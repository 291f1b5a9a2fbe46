"""The words of the command line and the variables of the environment, checked before anything is made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from omnigraph import errors
from omnigraph.base.plain_text import is_unicode, plain_text

_VARIABLES = ("OMNIGRAPH_", "AWS_", "SPARK_")
# What these flags compare with is the content of records and the headers of files, which may hold anything, and a
# statement may have several lines.
_DATA_FLAGS = ("--select", "--map", "-e", "--execute", "--query-string", "--params", "--param")


def check_words(words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Refuse words and variables that are no plain text: a name, an actor or an address is made of each."""
    for flag, word in _with_flags(words):
        if flag in _DATA_FLAGS and is_unicode(word):
            continue
        what = f"The argument after {flag}" if flag else "The argument"
        plain_text(word, what=what, refusal=_usage(flag), bytes_max=1 << 20, is_shown=flag != "--token")
    for name, value in environ.items():
        if name.startswith(_VARIABLES):
            # The value may be a secret, and stays out of the message.
            plain_text(value, what=f"The environment variable {name}", refusal=_usage(None), is_shown=False)


def _with_flags(words: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Pair each word with the flag that it may belong to, for the message."""
    before: str | None = None
    for word in words:
        flag, separator, value = word.partition("=")
        if separator and flag.startswith("--"):
            yield None, flag
            yield flag, value
        else:
            yield before, word
        before = word if word.startswith("--") or word in _DATA_FLAGS else None


def _usage(flag: str | None) -> Callable[[str], errors.Usage]:
    return lambda reason: errors.Usage(reason, flag=flag) if flag else errors.Usage(reason)
