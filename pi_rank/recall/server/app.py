"""The routes: each reads its fields, asks the service, and answers in JSON."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from pi_rank.errors import StoreError
from pi_rank.recall.server import bodies
from pi_rank.recall.server.audit import AuditLog
from pi_rank.recall.server.metrics import CONTENT_TYPE, Metrics
from pi_rank.recall.server.openapi import DOCUMENT
from pi_rank.recall.server.service import Service
from pi_rank.recall.server.settings import Settings
from pi_rank.recall.types import MAX_TOP_K
from pi_rank.serving.api_errors import ApiError, error_response, json_response
from pi_rank.serving.bodies import read_object
from pi_rank.serving.gate import HEALTH, Gate, address_of

DEFAULT_TOP_K = 5
MAX_K = 100
DEFAULT_MAX_BYTES, MOST_MAX_BYTES = 14_000, 1_000_000
STORED_CHARS = 80
NOTES = "/remember/"
NOTE = NOTES + "{id}"
METHODS = ("GET", "HEAD", "POST", "DELETE")
Fields = dict[str, Any]


def create_app(service: Service, settings: Settings, audit: AuditLog, metrics: Metrics) -> ASGIApp:
    """The ASGI application: the routes, behind the gate."""
    routes = _Routes(service, settings, metrics)
    table = [
        Route(HEALTH, routes.health, methods=["GET"]),
        Route("/status", routes.status, methods=["GET"]),
        Route("/metrics", routes.metrics, methods=["GET"]),
        Route("/openapi.json", routes.openapi, methods=["GET"]),
        Route(NOTE, routes.forget, methods=["DELETE"]),
        *(Route(path, routes.posted(answer), methods=["POST"]) for path, answer in routes.posts().items()),
    ]
    application = Starlette(
        routes=table, exception_handlers={HTTPException: _refused, ApiError: _failed, Exception: _broken}
    )
    application.router.redirect_slashes = False
    return Gate(application, settings, _recorder(audit, metrics, frozenset(route.path for route in table)))


def _recorder(
    audit: AuditLog, metrics: Metrics, routes: frozenset[str]
) -> Callable[[Scope, int, float], None]:
    """Counts each answer, and writes it down unless it is to a sign of life."""

    def record(scope: Scope, status: int, seconds: float) -> None:
        path, method = scope["path"], scope["method"]
        route = path if path in routes else NOTE if path.startswith(NOTES) else "other"
        metrics.request(method if method in METHODS else "other", route, status, seconds)
        if path != HEALTH:
            audit.record(address_of(scope), method, path, status)

    return record


class _Routes:
    def __init__(self, service: Service, settings: Settings, metrics: Metrics) -> None:
        self._service = service
        self._settings = settings
        self._metrics = metrics

    def posts(self) -> dict[str, Callable[[Fields], Awaitable[object]]]:
        return {
            "/recall": self.recall,
            "/remember": self.remember,
            "/consolidate": self.consolidate,
            "/context": self.context,
            "/search": self.search,
            "/explain": self.explain,
        }

    def posted(
        self, answer: Callable[[Fields], Awaitable[object]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            started = time.perf_counter()
            fields = await read_object(request, self._settings.body_limit, self._settings.body_seconds)
            self._metrics.stage("read", time.perf_counter() - started)
            return json_response(await answer(fields))

        return endpoint

    async def health(self, _: Request) -> Response:
        return json_response({"status": self._service.health(), "timestamp": time.time()})

    async def status(self, _: Request) -> Response:
        return json_response(await self._service.status())

    async def metrics(self, _: Request) -> Response:
        return Response(self._metrics.render(self._service.gauges()), media_type=CONTENT_TYPE)

    async def openapi(self, _: Request) -> Response:
        return json_response(DOCUMENT)

    async def recall(self, fields: Fields) -> object:
        query = bodies.text(fields, "query")
        return await self._service.recall(
            query, bodies.whole_number(fields, "top_k", DEFAULT_TOP_K, 1, MAX_TOP_K)
        )

    async def remember(self, fields: Fields) -> object:
        content, trigger = bodies.content_and_trigger(fields)
        try:
            note_id = await self._service.keeper.remember(content, trigger)
        except StoreError as error:
            raise ApiError(500, str(error)) from error
        return {"status": "ok", "stored": content[:STORED_CHARS], "id": note_id}

    async def forget(self, request: Request) -> Response:
        try:
            count = await self._service.keeper.forget(request.path_params["id"])
        except StoreError as error:
            raise ApiError(500, str(error)) from error
        if not count:
            raise ApiError(404, "no such note")
        return json_response({"status": "ok", "forgotten": count})

    async def consolidate(self, fields: Fields) -> object:
        if not isinstance(fields.get("force", False), bool):
            raise ApiError(400, "force must be a boolean")
        return {"status": "ok", "new_memories": await self._service.keeper.consolidate()}

    async def context(self, fields: Fields) -> object:
        return await self._service.context(fields.get("context"), _max_bytes(fields))

    async def explain(self, fields: Fields) -> object:
        return await self._service.explain(fields.get("context"), _max_bytes(fields))

    async def search(self, fields: Fields) -> object:
        query, k = bodies.text(fields, "query"), bodies.whole_number(fields, "k", 10, 1, MAX_K)
        return await self._service.search(query, k, fields.get("mode", "hybrid"), fields.get("context"))


def _max_bytes(fields: Fields) -> int:
    return bodies.whole_number(fields, "max_bytes", DEFAULT_MAX_BYTES, 0, MOST_MAX_BYTES)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = {404: "not found", 405: "method not allowed"}.get(error.status_code, "refused")
    return error_response(ApiError(error.status_code, message, dict(error.headers or {})))


async def _broken(_: Request, error: Exception) -> Response:
    """Nobody foresaw it. The framework answers with this and raises the error again: the gate logs it."""
    return error_response(ApiError(500, "internal error"))


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error)
