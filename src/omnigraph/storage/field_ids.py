"""The numbers by which Lance tells columns apart: data files name them, so a schema change must keep or mint them.

A schema made from Arrow is numbered from zero. A table whose columns came, went or changed their names has other
numbers, and Lance's binding offers no way to set them; they are put into the message that a schema pickles to.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pyarrow as pa

from omnigraph.storage.proto_messages import built_once

_NO_PARENT = -1


def flat_field_ids(fields: Sequence[Any]) -> list[int]:
    """Return the ids of Lance fields and all their children, depth first."""
    return [number for field in fields for number in (field.id(), *flat_field_ids(field.children()))]


def unused_field_ids(dataset: Any) -> Iterator[int]:
    """Yield ids above every one that the table's schema, or a data file of it, has."""
    used = flat_field_ids(dataset.lance_schema.fields())
    used += [
        number for fragment in dataset.get_fragments() for file in fragment.metadata.files for number in file.fields
    ]
    return count(max(used, default=_NO_PARENT) + 1)


def numbered_schema(schema: pa.Schema, field_ids: Sequence[int]) -> Any:
    """Return the Lance schema of an Arrow schema with these ids, given depth first."""
    from lance.schema import LanceSchema

    fresh: Any = LanceSchema.from_pyarrow(schema)
    rebuild, (metadata, *messages) = fresh.__reduce__()
    fields = [_field_message().FromString(message) for message in messages]
    number_by_fresh = dict(zip((field.id for field in fields), field_ids, strict=True)) | {_NO_PARENT: _NO_PARENT}
    for field in fields:
        field.id, field.parent_id = number_by_fresh[field.id], number_by_fresh[field.parent_id]
    return rebuild(metadata, *(field.SerializeToString() for field in fields))


@built_once
def _field_message() -> Any:
    """Declare the two numbers of Lance's field message; whatever else it holds travels along as unknown fields."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds, labels = descriptor_pb2.FieldDescriptorProto.Type, descriptor_pb2.FieldDescriptorProto.Label
    file = descriptor_pb2.FileDescriptorProto(
        name="omnigraph/lance_field.proto", package="omnigraph.lance_field", syntax="proto3"
    )
    message = file.message_type.add(name="Field")
    for name, number in (("id", 3), ("parent_id", 4)):
        message.field.add(name=name, number=number, type=kinds.TYPE_INT32, label=labels.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("omnigraph.lance_field.Field"))
