"""Declaring the few fields that we read of messages for which Lance ships no Python classes.

The protobuf runtime keeps everything else as unknown fields, so that releases which add fields are survived.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

TYPES = descriptor_pb2.FieldDescriptorProto.Type
_LABELS = descriptor_pb2.FieldDescriptorProto.Label


def field(
    name: str,
    number: int,
    kind: "descriptor_pb2.FieldDescriptorProto.Type.ValueType | str",
    *,
    repeated: bool = False,
) -> descriptor_pb2.FieldDescriptorProto:
    """Declare one field; a kind that is a text names another message of the same package."""
    label = _LABELS.LABEL_REPEATED if repeated else _LABELS.LABEL_OPTIONAL
    if isinstance(kind, str):
        return descriptor_pb2.FieldDescriptorProto(
            name=name, number=number, label=label, type=TYPES.TYPE_MESSAGE, type_name=kind
        )
    return descriptor_pb2.FieldDescriptorProto(name=name, number=number, label=label, type=kind)


def declare_messages(
    package: str, messages: Mapping[str, Sequence[descriptor_pb2.FieldDescriptorProto]]
) -> dict[str, Any]:
    """Build message classes under a package name of our own, so that no other copy in the process clashes."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto",
        package=package,
        # Optional fields of proto2 know whether they were present: a removed key differs from one set to "".
        syntax="proto2",
    )
    for name, fields in messages.items():
        for declared in file.message_type.add(name=name, field=fields).field:
            if declared.type == TYPES.TYPE_MESSAGE:
                declared.type_name = f".{package}.{declared.type_name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}
