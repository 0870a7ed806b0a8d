"""Endpoints made from the table of operations, and their description as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Endpoint

import reasoningbank
from reasoningbank.errors import InvalidInput
from reasoningbank.mcp.problems import PROBLEM
from reasoningbank.memories.admission import sayable_value
from reasoningbank.operations.arguments import Arguments, check_most
from reasoningbank.operations.composed import memory_named, unique
from reasoningbank.operations.json import object_schema, schema_of
from reasoningbank.operations.methods import answer_json, answer_schema, interface, run
from reasoningbank.operations.operation import API, Input, Json, Operation, Route, inputs_of
from reasoningbank.operations.signature import Parameter
from reasoningbank.operations.table import OPERATIONS
from reasoningbank.types.conversation import Workflow
from reasoningbank.types.graph import LABEL_FIELDS, LIST_FIELDS
from reasoningbank.web import prometheus
from reasoningbank.web.repeats import Repeats
from reasoningbank.web.requests import (
    PROJECT,
    BankThreads,
    RequestHandler,
    answering,
    body_of,
    check_query,
    query_whole,
)
from reasoningbank.web.workflows import ANSWER, BEGUN, EXECUTE, REMEMBERED

_SPECIAL = tuple(dict.fromkeys(name for names in LABEL_FIELDS.values() for name in names))
_TEXT: Json = {"type": "string"}
_KEY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "description": "Sent again with the same request, it is done once.",
}
_PROJECT: Json = {"name": PROJECT, "in": "query", "schema": _TEXT, "description": "Default: the server's project."}


def routes(desk: BankThreads) -> list[Endpoint]:
    """Return the endpoints of the table; those without arguments in their path come first."""
    repeats = Repeats()
    made = [
        Endpoint(
            f"{API}{each.route.path}",
            answering(_once(repeats, _handler(desk, each, each.route), each.route)),
            methods=[each.route.method],
        )
        for each in sorted(OPERATIONS, key=lambda each: each.route is not None and "{" in each.route.path)
        if each.route is not None
    ]
    return [*made, Endpoint("/openapi.json", answering(_described), methods=["GET"])]


def _once(repeats: Repeats, handler: RequestHandler, route: Route) -> RequestHandler:
    """Return the handler; that of a POST does what comes with one idempotency key once."""
    return repeats.once(handler) if route.method == "POST" else handler


def _handler(desk: BankThreads, operation: Operation, route: Route) -> RequestHandler:
    async def handle(request: Request) -> Response:
        values = await _values(request, operation, route)
        result = await desk.use(
            request,
            lambda bank: run(operation, bank, values),
            makes=bool(route.created),
            reads=operation.reads,
            admin=operation.admin,
        )
        new = route.created == "always" or (route.created == "new" and bool(getattr(result, "new", False)))
        answer = answer_json(operation, result, values)
        if operation.raw:
            answer = cast(Json, sayable_value(answer))
        links = _next_page(request, answer.get("count"), values) if operation.plural and _is_paged(route) else {}
        return JSONResponse(answer, 201 if new else 200, links)

    return handle


def _is_paged(route: Route) -> bool:
    return route.method == "GET" and {"limit", "offset"} <= {each.given for each in inputs_of(route.inputs)}


def _next_page(request: Request, count: object, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the header that leads to the next page of a list (RFC 8288); nothing on the last page."""
    limit, offset = values.get("limit") or 0, values.get("offset") or 0
    if not limit or count != limit:
        return {}
    following = request.url.include_query_params(offset=offset + limit)
    return {"Link": f'<{following.path}?{following.query}>; rel="next"'}


async def _values(request: Request, operation: Operation, route: Route) -> dict[str, Any]:
    """Return the arguments of a request by the names of the operation's parameters."""
    signature = interface(operation)
    inputs = [each for each in inputs_of(route.inputs) if not _in_path(route, each.given) and route.method == "GET"]
    lists = [each.given for each in inputs if signature.named(each.parameter).many]
    check_query(request, f"{route.method} {route.place}", [each.given for each in inputs], lists)
    values: dict[str, Any] = {**operation.defaults, **route.defaults}
    body = await body_of(request) if route.method in {"POST", "PATCH"} else {}
    schemas, required = body_schema(operation, route)
    whole = next((each for each in inputs_of(route.inputs) if each.spread and each.parameter != "fields"), None)
    if whole is not None:
        return {**values, whole.parameter: body}
    given = Arguments(f"{route.method} {route.place}", schemas, required, body)
    if route.method == "PATCH" and not any(map(given.has, schemas)):
        raise InvalidInput("nothing to change: name at least one field", hint=f"The fields are {', '.join(schemas)}.")
    for each in inputs_of(route.inputs):
        if each.spread:
            special = {name: given.value(name) for name in _SPECIAL if given.has(name)}
            if special:
                values[each.parameter] = special
            continue
        parameter = signature.named(each.parameter)
        if each.given in request.path_params:
            text = request.path_params[each.given]
            values[each.parameter] = memory_named(text) if parameter.kind == "name" else text
        elif route.method == "GET":
            values.update(_asked(request, each.given, parameter, values))
        elif given.has(each.given):
            value = given.value(each.given)
            values[each.parameter] = unique(value) if parameter.many and parameter.kind == "text" else value
    check_most(values, route.inputs, route.most)
    return {**values, **{name: values[name] or most for name, most in route.most.items()}}


def _asked(request: Request, given: str, parameter: Parameter, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an argument of the query, when it is there or must be."""
    if parameter.many:
        found = request.query_params.getlist(given)
        return {parameter.name: unique(found)} if found else {}
    if parameter.kind == "whole":
        default = values.get(parameter.name, parameter.default)
        return {parameter.name: query_whole(request, given, default)}
    text = request.query_params.get(given)
    return {parameter.name: text or ""} if text is not None or parameter.required else {}


def body_schema(operation: Operation, route: Route) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Return JSON Schema of each argument that is not in the path, and those that must be given."""
    signature = interface(operation)
    schemas: dict[str, Json] = {}
    for each in inputs_of(route.inputs):
        if each.spread and each.parameter == "fields":
            schemas.update(
                (name, {"type": "array", "items": _TEXT} if name in LIST_FIELDS else _TEXT) for name in _SPECIAL
            )
        elif not each.spread and not _in_path(route, each.given):
            parameter = signature.named(each.parameter)
            choices = operation.choices.get(parameter.name)
            schemas[each.given] = {"enum": list(choices)} if choices else parameter.schema
    return schemas, tuple(each.given for each in inputs_of(route.inputs) if each.required)


def _in_path(route: Route, name: str) -> bool:
    return f"{{{name}}}" in route.path or f"{{{name}:path}}" in route.path


async def _described(request: Request) -> Response:
    check_query(request, "GET /openapi.json", ())
    return JSONResponse(openapi())


def openapi() -> Json:
    """Return the description of every endpoint as OpenAPI 3.1."""
    paths: dict[str, Json] = {}
    for each in OPERATIONS:
        if each.route is not None:
            paths.setdefault(each.route.place, {})[each.route.method.lower()] = _operation(each, each.route)
    workflow = schema_of(Workflow)
    begun: Json = {name: workflow["properties"][name] for name in BEGUN}
    ended = {**begun, "remembered": REMEMBERED}
    paths["/workflow/execute"] = {"post": _workflow("Begin a turn of a workflow.", EXECUTE, ("user_input",), begun)}
    paths["/workflow/ai-answer"] = {
        "post": _workflow("End a turn of a workflow with its answer.", ANSWER, ("workflow_id",), ended)
    }
    paths["/workflow/{workflow_id}"] = {
        "get": {
            "operationId": "get_workflow",
            "summary": "Show a workflow with its turns.",
            "parameters": [{"name": "workflow_id", "in": "path", "required": True, "schema": _TEXT}, _PROJECT],
            "responses": _responses("200", workflow),
        }
    }
    paths["/workflow/ticket"] = {
        "post": {
            "operationId": "give_a_ticket",
            "summary": "Get a ticket that opens one WebSocket within thirty seconds.",
            "parameters": [_PROJECT],
            "responses": _responses("201", object_schema({"ticket": _TEXT, "seconds": {"type": "number"}}), "POST"),
        }
    }
    paths[prometheus.PATH] = {
        "get": {
            "operationId": "get_prometheus",
            "summary": "Get the numbers of the project as Prometheus reads them.",
            "parameters": [_PROJECT],
            "responses": {
                **_responses("200", {}),
                "200": {"description": "Done.", "content": {"text/plain": {"schema": _TEXT}}},
            },
        }
    }
    texts = ("type", "title", "detail", "error", "message", "hint")
    error = object_schema({**dict.fromkeys(texts, _TEXT), "status": {"type": "integer"}})
    return {
        "openapi": "3.1.0",
        "info": {"title": "ReasoningBank", "version": reasoningbank.__version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": error},
        },
    }


def _operation(operation: Operation, route: Route) -> Json:
    signature = interface(operation)
    schemas, required = body_schema(operation, route)
    parameters: list[Json] = [
        {"name": each.given, "in": "path", "required": True, "schema": signature.named(each.parameter).schema}
        for each in inputs_of(route.inputs)
        if _in_path(route, each.given)
    ]
    described: Json = {
        "operationId": f"{route.method.lower()}_{operation.method.strip('+').replace('.', '_')}",
        "summary": operation.summary,
    }
    if route.method == "GET":
        parameters += [
            {"name": each.given, "in": "query"}
            | ({"required": True} if _is_needed(each, signature.named(each.parameter), operation, route) else {})
            | {"schema": _bounded(schemas[each.given], operation, route, signature.named(each.parameter))}
            for each in inputs_of(route.inputs)
            if each.given in schemas
        ]
    elif route.method != "DELETE":
        whole = next((each for each in inputs_of(route.inputs) if each.spread and each.parameter != "fields"), None)
        body: Json = {"type": "object"} if whole is None else signature.named(whole.parameter).schema
        if schemas:
            named = {each.given: each.parameter for each in inputs_of(route.inputs) if not each.spread}
            body["properties"] = {
                name: _bounded(schema, operation, route, signature.named(named[name])) if name in named else schema
                for name, schema in schemas.items()
            }
        if required:
            body["required"] = list(required)
        if route.method == "PATCH":
            body["minProperties"] = 1
        described["requestBody"] = _body(body)
    described["parameters"] = [*parameters, _PROJECT, *([_KEY] if route.method == "POST" else [])]
    status = "201" if route.created == "always" else "200"
    described["responses"] = _responses(status, answer_schema(operation), route.method)
    if route.created == "new":
        described["responses"]["201"] = described["responses"]["200"]
    return described


def _is_needed(given: Input, parameter: Parameter, operation: Operation, route: Route) -> bool:
    """Return whether an argument of the query must be given: nothing stands in its place."""
    held = {**operation.defaults, **route.defaults}
    return given.required or (parameter.required and parameter.name not in held)


def _bounded(schema: Json, operation: Operation, route: Route, parameter: Parameter) -> Json:
    """Return the schema of an argument with what holds when it is left out, and the largest number that is taken."""
    bounded = dict(schema)
    default = {parameter.name: parameter.default, **operation.defaults, **route.defaults}[parameter.name]
    if isinstance(default, (bool, int, float, str)) and default != "":
        bounded["default"] = default
    if parameter.name in route.most:
        most = route.most[parameter.name]
        bounded["maximum"] = min(most, bounded.get("maximum", most))
    return bounded


def _workflow(summary: str, inputs: Mapping[str, Json], required: tuple[str, ...], answer: Json) -> Json:
    body = {"type": "object", "properties": dict(inputs), "required": list(required)}
    return {
        "operationId": summary.lower().rstrip(".").replace(" ", "_"),
        "summary": summary,
        "parameters": [_PROJECT],
        "requestBody": _body(body),
        "responses": _responses("201" if "user_input" in inputs else "200", object_schema(answer), "POST"),
    }


def _body(schema: Json) -> Json:
    """Return the description of a request's body: what it does not name is refused, at any depth."""
    return {"required": True, "content": {"application/json": {"schema": _closed(schema)}}}


def _closed(schema: Any) -> Any:
    """Return a schema whose objects have no further fields, but those that say themselves what else they have."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    inside = {name: _closed(each) for name, each in schema.items()}
    return {"additionalProperties": False, **inside} if inside.get("type") == "object" else inside


_REFUSALS: Mapping[str, str] = {
    "400": "An argument is missing, unknown or not usable.",
    "401": "The request carries no token that is known.",
    "403": "The token does not allow it, only a person does it, or the memory is in quarantine.",
    "404": "There is no such thing, or no such project.",
    "408": "The request did not arrive in time.",
    "413": "The request is too long.",
    "421": "The server does not have this host's name.",
    "429": "Too many requests or connections; Retry-After says when to come again.",
    "503": "The bank is busy, or the server is ending.",
}
"""The refusals that any request may get."""
_REFUSALS_OF_A_BODY: Mapping[str, str] = {"415": "The body is not said to be application/json."}
_REFUSALS_OF_A_KEY: Mapping[str, str] = {
    "409": "A request with this key, or the turn of the workflow, is under way.",
    "422": "The key was used for another request.",
}


def _responses(status: str, answer: Json, method: str = "GET") -> Json:
    """Return what is answered to a request with this method: when it succeeds, and when it does not."""
    done: Json = {"description": "Done.", "content": {"application/json": {"schema": answer}}}
    content: Json = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Error"}}}
    refusals = {
        **_REFUSALS,
        **(_REFUSALS_OF_A_BODY if method in {"POST", "PATCH"} else {}),
        **(_REFUSALS_OF_A_KEY if method == "POST" else {}),
        "default": "An error.",
    }
    return {status: done, **{code: {"description": said, "content": content} for code, said in refusals.items()}}
