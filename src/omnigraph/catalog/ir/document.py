"""From catalog to IR document and hashes.

References carry an id and the current name. The id is what counts; the name is there for people, and for the reader
to notice when the two disagree.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from omnigraph.catalog.canonical import CONSTRAINT_KINDS, annotation_document, canonical_json
from omnigraph.catalog.model import (
    Catalog,
    Constraint,
    EdgeType,
    EmbedSource,
    EntityType,
    InterfaceType,
    NodeType,
    PatternCheck,
    Property,
    PropertyType,
    Range,
)

IR_VERSION = 1

Document = dict[str, Any]
_IdByName = Mapping[str, int]
# `satisfies` lists ids, and says nothing that the names of interfaces and properties do not say.
_IDENTITY_MEMBERS = frozenset({"type_id", "property_id", "table_incarnation_id", "satisfies"})


def ir_document(catalog: Catalog) -> Document:
    """Return the IR as a JSON value, in canonical order."""
    return {
        "ir_version": IR_VERSION,
        "schema_identity_domain": catalog.identity_domain,
        "next_identity_id": catalog.next_identity_id,
        "interfaces": [_interface(interface) for interface in catalog.interfaces],
        "nodes": [_node(node, catalog) for node in catalog.nodes],
        "edges": [_edge(edge, catalog) for edge in catalog.edges],
    }


def ir_bytes(catalog: Catalog) -> bytes:
    """Return the bytes that are stored: the IR document as canonical JSON in UTF-8."""
    return canonical_json(ir_document(catalog)).encode()


def ir_hash(catalog: Catalog) -> str:
    """Return the SHA-256 of the stored bytes: the same types and the same identities."""
    return hashlib.sha256(ir_bytes(catalog)).hexdigest()


def schema_hash(catalog: Catalog) -> str:
    """Return the SHA-256 of the schema without its identities: equal when there is nothing to apply."""
    document = ir_document(catalog)
    shape = {kind: _without_identities(document[kind]) for kind in ("interfaces", "nodes", "edges")}
    return hashlib.sha256(canonical_json(shape).encode()).hexdigest()


def _without_identities(value: Any) -> Any:
    if isinstance(value, dict):
        members = {name: _without_identities(member) for name, member in value.items() if name not in _IDENTITY_MEMBERS}
        if "implements" in members:
            # The IR lists interfaces by id, and two graphs with one schema may have numbered them differently.
            members["implements"].sort(key=canonical_json)
        return members
    return [_without_identities(item) for item in value] if isinstance(value, list) else value


def _interface(interface: InterfaceType) -> Document:
    ids = _property_ids(interface.properties)
    return {
        "name": interface.name,
        "type_id": interface.type_id,
        "properties": [
            _property(declared, ids) | {"property_constraints": list(declared.property_constraints)}
            for declared in interface.properties
        ],
    }


def _node(node: NodeType, catalog: Catalog) -> Document:
    ids = _property_ids(node.properties)
    interface_ids = {interface.name: interface.type_id for interface in catalog.interfaces}
    properties = [
        _property(declared, ids)
        | {
            "declared_directly": declared.declared_directly,
            "satisfies": [{"property_id": promised, "name": declared.name} for promised in declared.satisfies],
        }
        for declared in node.properties
    ]
    implements = [{"type_id": interface_ids[name], "name": name} for name in node.implements]
    return _entity(node, ids) | {"properties": properties, "implements": implements}


def _edge(edge: EdgeType, catalog: Catalog) -> Document:
    ids = _property_ids(edge.properties)
    return _entity(edge, ids) | {
        "properties": [_property(declared, ids) for declared in edge.properties],
        "from_type": _node_reference(edge.from_type, catalog),
        "to_type": _node_reference(edge.to_type, catalog),
        "cardinality": {"min": edge.cardinality.low, "max": edge.cardinality.high},
    }


def _entity(entity: EntityType, ids: _IdByName) -> Document:
    return {
        "name": entity.name,
        "type_id": entity.type_id,
        "table_incarnation_id": entity.table_incarnation_id,
        "annotations": [annotation_document(annotation) for annotation in entity.annotations],
        "constraints": [_constraint(rule, ids) for rule in entity.constraints],
    }


def _property(declared: Property, ids: _IdByName) -> Document:
    return {
        "name": declared.name,
        "property_id": declared.property_id,
        "type": type_document(declared.type),
        "annotations": [annotation_document(annotation) for annotation in declared.annotations],
        "default": declared.default,
        "embed_source": None if declared.embed is None else _embed(declared.embed, ids),
    }


def type_document(declared: PropertyType) -> Document:
    """Return the JSON object of a property type."""
    return {
        "scalar": declared.scalar.value,
        "dim": declared.dimension,
        "list": declared.is_list,
        "nullable": declared.nullable,
        "enum_values": None if declared.enum_values is None else list(declared.enum_values),
    }


def _embed(embed: EmbedSource, ids: _IdByName) -> Document:
    # The source of an interface's vector may be a property that only its nodes declare: then there is no id to give.
    return {"source": {"property_id": ids.get(embed.source), "name": embed.source}, "model": embed.model}


def _constraint(rule: Constraint, ids: _IdByName) -> Document:
    kind = CONSTRAINT_KINDS[type(rule)]
    if isinstance(rule, Range):
        return {"kind": kind, "field": _field(rule.property, ids), "min": rule.low, "max": rule.high}
    if isinstance(rule, PatternCheck):
        return {"kind": kind, "field": _field(rule.property, ids), "pattern": rule.pattern}
    return {"kind": kind, "fields": [_field(name, ids) for name in sorted(rule.properties)]}


def _field(name: str, ids: _IdByName) -> Document:
    return {"property_id": ids[name], "name": name} if name in ids else {"system": name}


def _node_reference(name: str, catalog: Catalog) -> Document:
    return {"type_id": catalog.node_by_name[name].type_id, "name": name}


def _property_ids(properties: tuple[Property, ...]) -> _IdByName:
    return {declared.name: declared.property_id for declared in properties}
