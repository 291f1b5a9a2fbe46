"""Declaring the few fields that we read of messages for which Lance ships no Python classes.

The protobuf runtime keeps everything else as unknown fields, so that releases which add fields are survived. It is
imported when the first message is read: most commands read none.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from threading import Lock
from typing import Any, NamedTuple, TypeVar

Built = TypeVar("Built")


class TYPES(StrEnum):
    """What a field holds, as protobuf calls it."""

    TYPE_BOOL = "TYPE_BOOL"
    TYPE_BYTES = "TYPE_BYTES"
    TYPE_STRING = "TYPE_STRING"
    TYPE_UINT32 = "TYPE_UINT32"
    TYPE_UINT64 = "TYPE_UINT64"


class Undecodable(ValueError):
    """Bytes that are no message of the kind they were taken for."""


class Field(NamedTuple):
    """One field of a message; a kind that is no type names another message of the same package."""

    name: str
    number: int
    kind: TYPES | str
    is_repeated: bool


def field(name: str, number: int, kind: TYPES | str, *, repeated: bool = False) -> Field:
    """Declare one field; a kind that is a text names another message of the same package."""
    return Field(name, number, kind, repeated)


class Message:
    """One kind of message: call it to make one."""

    def __init__(self, declared: "_Package", name: str) -> None:
        self._declared = declared
        self._name = name

    def __call__(self, **fields: Any) -> Any:
        """Make a message with these fields."""
        return self._declared.message_class(self._name)(**fields)

    def read(self, content: bytes) -> Any:
        """Read a message; raise `Undecodable` when it is none."""
        from google.protobuf.message import DecodeError

        try:
            return self._declared.message_class(self._name).FromString(content)
        except DecodeError as error:
            raise Undecodable(str(error)) from error


def built_once(build: Callable[[], Built]) -> Callable[[], Built]:
    """Return what gives `build()`, called once however many threads ask at a time.

    Two pools of the same messages, one of which is thrown away while the other thread reads with it, crash the process.
    """
    lock = Lock()
    built: list[Built] = []

    def get() -> Built:
        if not built:
            with lock:
                if not built:
                    built.append(build())
        return built[0]

    return get


def declare_messages(package: str, messages: Mapping[str, Sequence[Field]]) -> dict[str, Message]:
    """Declare messages under a package name of our own, so that no other copy in the process clashes."""
    declared = _Package(package, messages)
    return {name: Message(declared, name) for name in messages}


class _Package:
    def __init__(self, name: str, messages: Mapping[str, Sequence[Field]]) -> None:
        self._name = name
        self._messages = messages
        self._classes = built_once(self._build_classes)

    def message_class(self, name: str) -> Any:
        return self._classes()[name]

    def _build_classes(self) -> dict[str, Any]:
        from google.protobuf import message_factory

        pool = self._build_pool()
        return {
            name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{self._name}.{name}"))
            for name in self._messages
        }

    def _build_pool(self) -> Any:
        from google.protobuf import descriptor_pb2, descriptor_pool

        kinds, labels = descriptor_pb2.FieldDescriptorProto.Type, descriptor_pb2.FieldDescriptorProto.Label
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{self._name.replace('.', '/')}.proto",
            package=self._name,
            # Optional fields of proto2 know whether they were present: a removed key differs from one set to "".
            syntax="proto2",
        )
        for name, fields in self._messages.items():
            message = file.message_type.add(name=name)
            for declared in fields:
                added = message.field.add(
                    name=declared.name,
                    number=declared.number,
                    label=labels.LABEL_REPEATED if declared.is_repeated else labels.LABEL_OPTIONAL,
                )
                if isinstance(declared.kind, TYPES):
                    added.type = kinds.Value(declared.kind.value)
                else:
                    added.type, added.type_name = kinds.Value("TYPE_MESSAGE"), f".{self._name}.{declared.kind}"
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        return pool
