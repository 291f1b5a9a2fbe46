"""`omnigraph` is the public surface: whatever a public method takes, returns or tells listeners is importable there."""

import ast
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import omnigraph
from omnigraph.base import events

PUBLIC = (
    omnigraph.Graph,
    omnigraph.Snapshot,
    omnigraph.SnapshotTable,
    omnigraph.Blob,
    omnigraph.Branches,
    omnigraph.Changes,
    omnigraph.RemoteGraph,
    omnigraph.RemoteBranches,
    omnigraph.RemoteChanges,
    omnigraph.RemoteCommitChanges,
    omnigraph.AsyncRemoteGraph,
    omnigraph.AsyncRemoteBranches,
    omnigraph.AsyncRemoteChanges,
    omnigraph.AsyncBlob,
    omnigraph.SqlResult,
    omnigraph.WriteBatch,
)
FUNCTIONS = (omnigraph.init, omnigraph.open, omnigraph.embed_files, omnigraph.connect, omnigraph.connect_async)


class Elsewhere:
    """Stands for a library, none of whose classes is looked at."""

    def __getattr__(self, name: str) -> Any:
        return Any


def names_of(module: ModuleType) -> dict[str, Any]:
    """Return all that a module's annotations may name, what it imports for type checkers included."""
    names = dict(vars(module))
    assert module.__file__ is not None
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Import):
            # Whose types these are is not ours to export.
            names |= {alias.asname: Elsewhere() for alias in node.names if alias.asname is not None}
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            home = importlib.import_module(node.module)
            for alias in node.names:
                names.setdefault(alias.asname or alias.name, getattr(home, alias.name, None))
    return names


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function, names_of(importlib.import_module(function.__module__)))


def functions_of(cls: type) -> Iterator[Callable[..., Any]]:
    for name, member in inspect.getmembers_static(cls):
        if name.startswith("_"):
            continue
        found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(found) and found.__module__.startswith("omnigraph"):
            yield found


def classes_in(hint: Any) -> Iterator[type]:
    if inspect.isclass(hint) and hint.__module__.startswith("omnigraph"):
        yield hint
    for part in typing.get_args(hint):
        yield from classes_in(part)
    if isinstance(hint, list):
        for part in hint:
            yield from classes_in(part)


def shown_by(function: Callable[..., Any]) -> set[type]:
    """Return our classes that a signature names; errors have their own page, and protocols are met, not imported."""
    named = {cls for hint in hints_of(function).values() for cls in classes_in(hint)}
    return {cls for cls in named if not issubclass(cls, BaseException) and not getattr(cls, "_is_protocol", False)}


@pytest.mark.parametrize(
    "function",
    [*FUNCTIONS, *(function for cls in PUBLIC for function in functions_of(cls))],
    ids=lambda function: function.__qualname__,
)
def test_what_a_public_method_takes_and_returns_is_public(function: Callable[..., Any]) -> None:
    exported = {id(getattr(omnigraph, name)) for name in omnigraph.__all__}
    hidden = {f"{cls.__module__}.{cls.__qualname__}" for cls in shown_by(function) if id(cls) not in exported}

    assert hidden == set()


def test_every_event_is_public() -> None:
    told = {cls for cls in vars(events).values() if inspect.isclass(cls) and issubclass(cls, events.Event)}

    assert {cls.__name__ for cls in told} <= set(omnigraph.__all__)
