"""`dataclass`, for less: a drop-in for the standard decorator whose classes cost a tenth to declare.

The standard one writes six methods as text and compiles each of them: 0.7 ms for a class, a fifth of a second for all
that a command declares, most of them never made. Here `__init__` is compiled when the first instance is made, and the
other methods, which need no text of their own, are closures over the fields. Everything else is the standard library's:
`fields`, `replace`, `asdict` and pickles work as ever. `Json` is what a document for programs may hold.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, cast, dataclass_transform

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
ClassT = TypeVar("ClassT", bound=type)
_Methods = dict[str, Callable[..., Any]]


@dataclass_transform(field_specifiers=(dataclasses.field, dataclasses.Field))
def dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 — as there
) -> Callable[[ClassT], ClassT]:
    """Declare the class below as a dataclass; the flags mean what they mean in the standard library."""

    def declare(plain: ClassT) -> ClassT:
        own = {name for name, value in vars(plain).items() if not (name == "__hash__" and value is None)}
        cls: Any = dataclasses.dataclass(
            init=False, repr=False, eq=False, frozen=_has_frozen_base(plain), slots=slots, kw_only=kw_only
        )(plain)
        cls.__dataclass_params__.frozen = frozen
        given = dataclasses.fields(cls)
        methods = _representation(given) if repr else {}
        if eq:
            methods |= _comparison(given, is_frozen=frozen)
        if frozen:
            methods |= _refusal(cls, given)
        if frozen and slots:
            methods |= _pickling(given)
        for name, method in methods.items():
            if name not in own:
                setattr(cls, name, method)
        if eq and not frozen and "__hash__" not in own:
            cls.__hash__ = None
        if "__init__" not in own:
            cls.__init__ = _FirstInstance(cls, is_frozen=frozen)
        return cast("ClassT", cls)

    return declare


def _has_frozen_base(cls: type) -> bool:
    # The standard library refuses to mix frozen and other classes, and would look at what it made itself.
    bases: list[Any] = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    return any(base.__dataclass_params__.frozen for base in bases)


def _representation(given: tuple[dataclasses.Field[Any], ...]) -> _Methods:
    shown = [field.name for field in given if field.repr]

    @recursive_repr("...")
    def __repr__(self: Any) -> str:  # noqa: N807 — it becomes one
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    return {"__repr__": __repr__}


def _comparison(given: tuple[dataclasses.Field[Any], ...], *, is_frozen: bool) -> _Methods:
    content = _tuple_of([field.name for field in given if field.compare])
    hashed = _tuple_of([field.name for field in given if (field.compare if field.hash is None else field.hash)])

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807 — it becomes one
        return content(self) == content(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807 — it becomes one
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__} if is_frozen else {"__eq__": __eq__}


def _tuple_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _refusal(cls: type[Any], given: tuple[dataclasses.Field[Any], ...]) -> _Methods:
    names = frozenset(field.name for field in given)

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807 — it becomes one
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 — it becomes one
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _pickling(given: tuple[dataclasses.Field[Any], ...]) -> _Methods:
    names = [field.name for field in given]

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807 — it becomes one
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:  # noqa: N807 — it becomes one
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}


class _FirstInstance:
    """Stands for `__init__` until somebody asks for it."""

    def __init__(self, cls: type, *, is_frozen: bool) -> None:
        self._cls = cls
        self._is_frozen = is_frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        compiled = _compile_init(self._cls, is_frozen=self._is_frozen)
        self._cls.__init__ = compiled  # type: ignore[misc]  # what it stood for; two threads would set the same
        return compiled.__get__(instance, owner)


def _compile_init(cls: type, *, is_frozen: bool) -> Any:
    known: dict[str, Any] = {"_set": object.__setattr__, "_unset": _UNSET}
    by_place: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        parameter = name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default_factory
            parameter = f"{name}=_unset"
            value = f"_default_{name}() if {name} is _unset else {name}"
        if not field.init:
            if parameter == name:
                continue
            value = f"_default_{name}" + ("()" if field.default is dataclasses.MISSING else "")
        else:
            (by_name if field.kw_only else by_place).append(parameter)
        lines.append(f"_set(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), known)  # noqa: S102 — from names of fields only
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init} | {
        "return": None
    }
    return init


class _Unset:
    def __repr__(self) -> str:
        return "<factory>"


_UNSET = _Unset()
