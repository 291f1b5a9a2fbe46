"""The OpenAPI document, made of the table of routes.

python -m omnigraph.server.openapi docs/reference/openapi.json    write the committed copy
"""

import json
import sys
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.server.members import Member
from omnigraph.server.models import SCHEMAS, TEXT, Schema, ref
from omnigraph.server.operation import NDJSON, HttpOperation
from omnigraph.server.routes import ROUTES

CONDITION_HEADER = "Omnigraph-If-Graph-Commit"
_ERROR = {"application/json": {"schema": ref("Error")}}


def openapi_document(*, is_open: bool = False) -> dict[str, Any]:
    """Describe every route; a server without tokens asks for none."""
    paths: dict[str, Any] = {}
    for route in ROUTES:
        if route.operation_id is not None:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, is_open=is_open)
    components: dict[str, Any] = {"schemas": SCHEMAS}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Omnigraph API", "version": omnigraph.__version__},
        "paths": dict(sorted(paths.items())),
        "components": components,
    }
    if not is_open:
        components["securitySchemes"] = {"bearer_token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer_token": []}]
    return document


def _operation(route: HttpOperation, *, is_open: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": route.operation_id, "summary": route.about}
    parameters = [*_path_parameters(route), *(_parameter(member) for member in route.parameters)]
    if route.is_conditional:
        parameters.append({"name": CONDITION_HEADER, "in": "header", "required": True, "schema": TEXT})
    if parameters:
        operation["parameters"] = parameters
    if route.media_type:
        schema = TEXT if route.media_type == NDJSON else _body(route)
        operation["requestBody"] = {
            "required": not route.has_optional_body,
            "content": {route.media_type: {"schema": schema}},
        }
    operation["responses"] = _responses(route)
    if route.successor is not None:
        operation["deprecated"] = True
    if route.is_public and not is_open:
        operation["security"] = []
    return operation


def _path_parameters(route: HttpOperation) -> list[dict[str, Any]]:
    names = [segment[1:-1] for segment in route.path.split("/") if segment.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]


def _parameter(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "in": "query",
        "required": member.is_required,
        "description": member.about,
        "schema": _schema(member),
    }


def _body(route: HttpOperation) -> Schema:
    members = {
        _spelled(member, route): {
            **(_schema(member) if member.is_required else _or_null(_schema(member))),
            "description": member.about,
        }
        for member in route.members
    }
    schema: Schema = {"type": "object", "properties": members}
    required = [_spelled(member, route) for member in route.members if member.is_required]
    if required:
        schema["required"] = required
    if route.is_strict:
        schema["additionalProperties"] = False
    return schema


def _spelled(member: Member, route: HttpOperation) -> str:
    """Name a member as the clients of the route do: older routes are only asked by clients with the older names."""
    return member.alias if member.alias is not None and route.successor is not None else member.name


def _or_null(schema: Schema) -> Schema:
    """Let a member of a body be null, which says as much as leaving it out."""
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **choices}


def _schema(member: Member) -> Schema:
    return {**member.kind.schema, "enum": list(member.choices)} if member.choices else dict(member.kind.schema)


def _responses(route: HttpOperation) -> dict[str, Any]:
    schema: Schema = ref(route.answer) if route.answer is not None else TEXT
    content = {} if route.method == "HEAD" else {"content": {route.answer_type: {"schema": schema}}}
    responses: dict[str, Any] = {"200": {"description": route.about, **content}}
    if route.answer_type == "application/octet-stream":
        responses["206"] = {"description": "The range that was asked for.", **content}
        responses["302"] = {"description": "The bytes are elsewhere."}
        responses["304"] = {"description": "Nothing changed."}
    if route.operation_id == "ready":
        responses["503"] = {"description": "The server is shutting down.", "content": content["content"]}
    if not route.is_public:
        failure = {"description": "Why it failed."} | ({} if route.method == "HEAD" else {"content": _ERROR})
        responses["default"] = failure
    return responses


def main(arguments: list[str]) -> None:
    """Write the document to a file."""
    Path(arguments[0]).write_text(json.dumps(openapi_document(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
