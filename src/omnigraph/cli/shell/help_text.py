"""The commands of the shell: their fixed values, for completion, and what `:help` says."""

from collections.abc import Mapping, Sequence
from typing import Final

from omnigraph.cli.query_view import FORMATS

VALUES_BY_COMMAND: Final[Mapping[str, Sequence[str]]] = {
    "branch": (),
    "snapshot": (),
    "schema": (),
    "explain": (),
    "analyze": (),
    "param": (),
    "format": FORMATS,
    "timing": ("on", "off"),
    "help": (),
    "quit": (),
}

HELP: Final = f"""\
A query is run when its braces are closed: match {{ $a: Type }} return {{ $a.name }}
`;` or an empty line ends it anywhere; Tab completes; Esc Enter starts a new line.

:branch [NAME]       read and change another branch, or list them
:snapshot [ADDRESS]  read an older state (a commit id, branch@N, branch@TIME, branch~N), or say which is read
:schema [TYPE]       show the schema, or one type of it
:explain QUERY       show the steps that would answer a query
:analyze QUERY       run a query and show what each step did
:param [NAME=VALUE]  set a parameter of later queries, or list them; NAME alone forgets its value
:format [FORM]       show rows as {", ".join(FORMATS)}
:timing [on|off]     say how long each query took
:help                show this
:quit                leave, as Ctrl-D does"""
