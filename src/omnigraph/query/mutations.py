"""The meaning of a mutation: which entities are put in, changed and removed, and with which values."""

from typing import NoReturn

from omnigraph.base.nearest import nearest
from omnigraph.catalog.model import EdgeType, EntityType, NodeType, PropertyType, Scalar
from omnigraph.language.query.spelling import spell_expression
from omnigraph.language.query.syntax import (
    AssignmentSyntax,
    DeleteSyntax,
    InsertSyntax,
    MutationSyntax,
    NullSyntax,
    PredicateSyntax,
    StatementSyntax,
    UpdateSyntax,
)
from omnigraph.language.source import Name
from omnigraph.query.constants import is_scalar
from omnigraph.query.fitting import Use, fitting_value
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.typed import (
    FROM,
    ID,
    STRING,
    TO,
    Assignment,
    CheckedMutation,
    Delete,
    Insert,
    Predicate,
    Statement,
    Update,
)

_ENDPOINTS = {FROM: STRING, TO: STRING}


def check_mutation(checking: Checking, mutation: MutationSyntax) -> CheckedMutation:
    """Check a mutation against the schema."""
    _refuse_mixed(checking, mutation)
    return CheckedMutation(
        name=checking.query_name,
        parameters=tuple(checking.parameters.values()),
        statements=tuple(_statement(checking, statement) for statement in mutation.statements),
    )


def _refuse_mixed(checking: Checking, mutation: MutationSyntax) -> None:
    deletes = [statement for statement in mutation.statements if isinstance(statement, DeleteSyntax)]
    if deletes and len(deletes) < len(mutation.statements):
        checking.refuse(
            QueryCode.MIXED_MUTATION,
            deletes[0].span,
            f"the query `{checking.query_name}` inserts or updates and also deletes; run two queries, or run them on a "
            "branch and merge it",
        )


def _statement(checking: Checking, statement: StatementSyntax) -> Statement:
    entity = _entity(checking, statement.type_name)
    if isinstance(statement, InsertSyntax):
        return _insert(checking, statement, entity)
    if isinstance(statement, DeleteSyntax):
        return Delete(entity=entity, predicate=_predicate(checking, statement.predicate, entity))
    return _update(checking, statement, entity)


def _entity(checking: Checking, written: Name) -> EntityType:
    """Find a type by its exact name; where a node and an edge type share it, the node type is meant."""
    name = written.text
    node = checking.catalog.node_by_name.get(name)
    if node is not None:
        return node
    edge = checking.catalog.edge_by_folded_name.get(name.casefold())
    if edge is None or edge.name != name:
        known = [entity.name for entity in checking.catalog.entity_types()]
        meant = nearest(name, known)
        hint = f"; did you mean {meant}?" if meant else ""
        checking.refuse(QueryCode.UNKNOWN_MUTATED_TYPE, written.span, f"there is no node or edge type {name}{hint}")
    return edge


def _insert(checking: Checking, statement: InsertSyntax, entity: EntityType) -> Insert:
    endpoints = _ENDPOINTS if isinstance(entity, EdgeType) else {}
    assignments = _assignments(checking, statement.assignments, entity, endpoints)
    given = {assignment.property for assignment in assignments}
    required = [
        *endpoints,
        *(
            declared.name
            for declared in entity.properties
            if not declared.type.nullable and declared.default is None and not declared.may_be_pending
        ),
    ]
    missing = [name for name in required if name not in given]
    if missing:
        checking.refuse(
            QueryCode.MISSING_PROPERTY,
            statement.type_name.span,
            f"insert {entity.name} leaves out {', '.join(f'`{name}`' for name in missing)}, without which there is no "
            f"{entity.name}",
        )
    return Insert(entity=entity, assignments=assignments)


def _update(checking: Checking, statement: UpdateSyntax, entity: EntityType) -> Update:
    if not isinstance(entity, NodeType):
        checking.refuse(
            QueryCode.EDGE_UPDATE,
            statement.type_name.span,
            f"{entity.name} is an edge type, and edges are not updated; delete the edge and insert another",
        )
    key = entity.key.properties if entity.key is not None else ()
    for assignment in statement.assignments:
        if assignment.property.text in key:
            checking.refuse(
                QueryCode.KEY_UPDATE,
                assignment.property.span,
                f"{entity.name}.{assignment.property} is part of the key, which never changes; insert another "
                f"{entity.name} and delete this one",
            )
    return Update(
        entity=entity,
        assignments=_assignments(checking, statement.assignments, entity, {}),
        predicate=_predicate(checking, statement.predicate, entity),
    )


def _assignments(
    checking: Checking,
    written: tuple[AssignmentSyntax, ...],
    entity: EntityType,
    endpoints: dict[str, PropertyType],
) -> tuple[Assignment, ...]:
    found: dict[str, Assignment] = {}
    for assignment in written:
        name = assignment.property.text
        if name in found:
            checking.refuse(
                QueryCode.ASSIGNED_TWICE, assignment.property.span, f"{entity.name}.{name} is assigned more than once"
            )
        found[name] = _assignment(checking, assignment, entity, endpoints)
    return tuple(found.values())


def _assignment(
    checking: Checking, written: AssignmentSyntax, entity: EntityType, endpoints: dict[str, PropertyType]
) -> Assignment:
    name = written.property.text
    if name == ID:
        checking.refuse(
            QueryCode.UNKNOWN_MUTATED_PROPERTY,
            written.property.span,
            f"{entity.name}.id cannot be assigned: an id is made from the key, or generated",
        )
    declared, may_be_null = endpoints.get(name), False
    if declared is None:
        found = entity.property_by_name.get(name)
        if found is None:
            _refuse_property(checking, written.property, entity, endpoints)
        declared, may_be_null = found.type, found.stored_nullable
    if isinstance(written.value, NullSyntax):
        if not may_be_null:
            checking.refuse(
                QueryCode.WRONG_LITERAL,
                written.value.span,
                f"{entity.name}.{name} is {declared} and required, so it cannot be null",
            )
        return Assignment(property=name, type=declared, value=None)
    value = fitting_value(checking, written.value, declared, name=f"{entity.name}.{name}", use=Use.ASSIGNMENT)
    return Assignment(property=name, type=declared, value=value)


def _predicate(checking: Checking, written: PredicateSyntax, entity: EntityType) -> Predicate:
    name = written.property.text
    others = {ID: STRING} | (_ENDPOINTS if isinstance(entity, EdgeType) else {})
    declared = others.get(name)
    if declared is None:
        found = entity.property_by_name.get(name)
        if found is None:
            _refuse_property(checking, written.property, entity, others)
        declared = found.type
    if declared.scalar is Scalar.BLOB:
        checking.refuse(
            QueryCode.UNKNOWN_MUTATED_PROPERTY,
            written.property.span,
            f"{entity.name}.{name} is {declared}, and a Blob cannot be compared behind `where`",
        )
    if not is_scalar(declared):
        checking.refuse(
            QueryCode.INCOMPATIBLE,
            written.span,
            f"{entity.name}.{name} is {declared}, which cannot be compared with {spell_expression(written.value)} "
            "behind `where`",
        )
    value = fitting_value(checking, written.value, declared, name=f"{entity.name}.{name}", use=Use.PREDICATE)
    return Predicate(property=name, type=declared, operator=written.operator, value=value)


def _refuse_property(
    checking: Checking, written: Name, entity: EntityType, others: dict[str, PropertyType]
) -> NoReturn:
    meant = nearest(written.text, {**entity.property_by_name, **others})
    hint = f"; did you mean `{meant}`?" if meant else ""
    checking.refuse(
        QueryCode.UNKNOWN_MUTATED_PROPERTY, written.span, f"{entity.name} has no property `{written.text}`{hint}"
    )
