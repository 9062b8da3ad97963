"""The OpenAPI 3.1 document of the REST door, made from the operations. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gateway.admin.binding import fields, in_query, path_fields
from gateway.admin.operations import Empty, Operation
from gateway.admin.rights import RIGHTS

REFERENCE = "#/components/schemas/{name}"

ERRORS = {
    "401": "No token, or none that is known.",
    "403": "The token's grants lack the right.",
    "404": "There is no such thing, or none that the caller may know of.",
    "409": "What it was decided on has changed since.",
    "422": "The request can't be carried out as it is; `problems` names each field.",
    "503": "A store is away; come again after `Retry-After` seconds.",
}
OF_BODIES = {
    "400": "The body broke off, or its coding can't be read.",
    "408": "The body took too long to arrive.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
}


def document(operations: Sequence[Operation], *, version: str) -> dict[str, Any]:
    """Return the document."""
    types: list[Any] = [operation.request for operation in operations]
    types += [operation.result for operation in operations if not isinstance(operation.result, str)]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    requests, results = schemas[: len(operations)], iter(schemas[len(operations) :])
    paths: dict[str, dict[str, Any]] = {}
    for operation, request in zip(operations, requests, strict=True):
        result = None if isinstance(operation.result, str) else next(results)
        told = _operation(operation, _resolved(request, components), result)
        paths.setdefault(f"/api/v1{operation.path}", {})[operation.method.lower()] = told
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clew for admins",
            "version": version,
            "description": "What an admin can do, by REST. The command line (`python -m gateway admin`) has the same operations"
            " by the same names, and the console shows them. Ids are strings. Errors are problem details (RFC 9457).",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": components | {"ProblemDetails": _PROBLEM},
        },
    }


_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "For programs; stays as it is."},
        "field": {"type": "string"},
        "problems": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
}


def _operation(operation: Operation, request: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    roles = ", ".join(role for role, rights in RIGHTS.items() if operation.right in rights)
    made: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.name.partition(".")[0]],
        "summary": operation.told,
        "description": f"Needs the right `{operation.right}` ({roles}).",
        "parameters": _parameters(operation, request),
        "responses": _responses(operation, result),
    }
    if not in_query(operation) and (body := _body(operation, request))["properties"]:
        made["requestBody"] = {
            "required": bool(body.get("required")),
            "content": {"application/json": {"schema": body}},
        }
    return made


def _parameters(operation: Operation, request: dict[str, Any]) -> list[dict[str, Any]]:
    of_path = path_fields(operation)
    told = [{"name": name, "in": "path", "required": True, "schema": request["properties"][name]} for name in of_path]
    if in_query(operation):
        told += [
            {
                "name": name,
                "in": "query",
                "required": field.required,
                "schema": request["properties"][name],
            }
            for name, field in fields(operation).items()
            if name not in of_path
        ]
    return told


def _body(operation: Operation, request: dict[str, Any]) -> dict[str, Any]:
    of_path = path_fields(operation)
    return {
        "type": "object",
        "properties": {name: told for name, told in request["properties"].items() if name not in of_path},
        "required": [name for name in request.get("required", ()) if name not in of_path],
        "additionalProperties": False,
    }


def _responses(operation: Operation, result: dict[str, Any] | None) -> dict[str, Any]:
    if result is None:
        media = str(operation.result)
        done: dict[str, Any] = {"200": {"description": "What was asked for.", "content": {media: {}}}}
    elif operation.result is Empty:
        done = {"204": {"description": "Done."}}
    else:
        told = {"application/json": {"schema": result}}
        done = {"200": {"description": "Done.", "content": told}}
    problem = {"application/problem+json": {"schema": {"$ref": REFERENCE.format(name="ProblemDetails")}}}
    errors = ERRORS if in_query(operation) else dict(sorted((ERRORS | OF_BODIES).items()))
    return done | {status: {"description": text, "content": problem} for status, text in errors.items()}


def _resolved(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    told: dict[str, Any] = components[name] if name else schema
    return told
