"""Our `dataclass` makes the same classes as the standard library's, and compiles nothing before the first instance."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import cached_property
from typing import Any

import pytest

from omnigraph.base import values


def person(declare: Callable[..., Callable[[type], type]], **flags: bool) -> Any:
    class Person:
        """Somebody."""

        name: str
        age: int = 0
        tags: list[str] = field(default_factory=list)
        secret: str = field(default="x", repr=False)
        note: str = field(default="", compare=False)

    return declare(**flags)(Person)


FLAGS = [
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "kw_only": True},
    {"frozen": True},
    {"slots": True, "kw_only": True},
    {"kw_only": True},
    {"frozen": True, "slots": True, "kw_only": True, "eq": False},
    {"frozen": True, "slots": True, "kw_only": True, "repr": False},
]


@pytest.mark.parametrize("flags", FLAGS, ids="-".join)
def test_instances_are_those_of_the_standard_library(flags: dict[str, bool]) -> None:
    ours, theirs = person(values.dataclass, **flags), person(dataclasses.dataclass, **flags)
    mine, standard = ours(name="ada", age=3, note="n"), theirs(name="ada", age=3, note="n")

    assert asdict(mine) == asdict(standard)
    assert [member.name for member in fields(ours)] == [member.name for member in fields(theirs)]
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    if flags.get("repr", True):
        assert repr(mine) == repr(standard)
    else:
        assert repr(mine).startswith("<")
    for other in (mine, replace(mine), replace(mine, note="m"), replace(mine, age=4), None):
        mirrored = None if other is None else replace(standard, age=other.age, note=other.note)
        if other is not mine:
            assert (mine == other) is (standard == mirrored)
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))


@pytest.mark.parametrize("slots", [False, True])
def test_a_frozen_instance_does_not_change_and_hashes_by_content(slots: bool) -> None:
    @values.dataclass(frozen=True, slots=slots, kw_only=True)
    class Pin:
        """A pin."""

        table: str
        version: int
        checksum: str = field(default="", compare=False)

    pin = Pin(table="a", version=1)

    assert {pin, Pin(table="a", version=1, checksum="other")} == {pin}
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'version'"):
        pin.version = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'version'"):
        del pin.version
    with pytest.raises(FrozenInstanceError):
        pin.unknown = 2  # type: ignore[attr-defined]


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """At module level, where pickles find it."""

    path: str
    parts: tuple[int, ...] = ()


@values.dataclass(slots=True, kw_only=True)
class Open:
    """Not frozen."""

    path: str


def test_pickles_and_copies_are_equal() -> None:
    for made in (Place(path="p", parts=(1, 2)), Open(path="p")):
        assert pickle.loads(pickle.dumps(made)) == made
        assert copy.deepcopy(made) == made == copy.copy(made)


def test_arguments_are_checked_as_those_of_any_function() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'path'"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'paths'"):
        Place(path="p", paths="q")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        Place("p")  # type: ignore[call-arg,misc]


def test_factories_make_a_value_for_each_instance_and_fields_may_be_left_out_of_init() -> None:
    @values.dataclass(kw_only=True)
    class Writer:
        """Fields that nobody passes."""

        rows: list[int] = field(default_factory=list)
        plan: str | None = field(default=None, init=False)
        seen: list[int] = field(default_factory=list, init=False)

        def __post_init__(self) -> None:
            self.seen.append(len(self.rows))

    first, second = Writer(rows=[1]), Writer()
    second.rows.append(2)

    assert (first.rows, second.rows, first.seen, second.seen, first.plan) == ([1], [2], [1], [0], None)
    assert first.rows is not Writer().rows


def test_classes_inherit_fields_and_mix_with_standard_ones() -> None:
    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Event:
        """The base."""

        at: int = 0

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Warned(Event):
        """Ours on ours."""

        message: str

    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Standard(Event):
        """Theirs on ours."""

        message: str

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Again(Standard):
        """Ours on theirs."""

        reason: str

    assert repr(Warned(message="m")).endswith("Warned(at=0, message='m')")
    assert Standard(message="m", at=1) == Standard(message="m", at=1) != Standard(message="m")
    assert asdict(Again(message="m", reason="r")) == {"at": 0, "message": "m", "reason": "r"}
    with pytest.raises(FrozenInstanceError):
        Again(message="m", reason="r").at = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Warned(message="m").message = "n"  # type: ignore[misc]
    assert not isinstance(Event(), Warned)
    assert Event() != Warned(message="m")


def test_methods_that_a_class_writes_itself_stay() -> None:
    @values.dataclass(frozen=True, kw_only=True)
    class Own:  # noqa: PLW1641 — that it gets one all the same is what is tested
        """With its own words."""

        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __eq__(self, other: object) -> bool:
            return True

        @cached_property
        def upper(self) -> str:
            return self.name.upper()

    own = Own(name="a")

    assert (repr(own), own == 3, own.upper, own.upper) == ("<a>", True, "A", "A")
    assert hash(own) == hash(Own(name="a"))


def test_a_value_that_holds_itself_can_be_shown() -> None:
    @values.dataclass(kw_only=True)
    class Knot:
        """A loop."""

        inside: list[Any]

    knot = Knot(inside=[])
    knot.inside.append(knot)

    assert repr(knot).endswith("Knot(inside=[...])")


def test_nothing_is_compiled_before_the_first_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[type] = []
    compile_init = values._compile_init

    def counting(cls: type, *, is_frozen: bool) -> Any:
        compiled.append(cls)
        return compile_init(cls, is_frozen=is_frozen)

    monkeypatch.setattr(values, "_compile_init", counting)

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Late:
        """Not yet."""

        name: str

    assert compiled == []
    assert Late(name="a") == Late(name="a")
    assert compiled == [Late]
