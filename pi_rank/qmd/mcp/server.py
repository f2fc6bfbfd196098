"""The MCP server, on the official SDK: stdio, and streamable HTTP with two plain routes beside it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.mcp.schemas import TOOLS
from pi_rank.qmd.mcp.tools import Tools
from pi_rank.qmd.mcp.values import Resource, ToolAnswer
from pi_rank.version import __version__

try:
    import anyio.to_thread
    import mcp_types as types
    from mcp.server import Server, ServerRequestContext
    from mcp.server.stdio import stdio_server
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.shared.exceptions import MCPError
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from pi_rank.serving.api_errors import ApiError, error_response, json_response
    from pi_rank.serving.bodies import read_object
    from pi_rank.serving.gate import Gate
except ImportError as error:
    raise QmdError(
        f"The MCP server needs the MCP SDK, version 2 ({error}): pip install 'pi-rank[mcp]'"
    ) from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from pi_rank.serving.settings import ServerSettings

MIME_TYPE = "text/markdown"
_READ_ONLY = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)


def server(tools: Tools) -> Server[Any]:
    """The SDK's server with our tools."""

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name) for name in TOOLS])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in TOOLS:
            raise MCPError(types.INVALID_PARAMS, f"Tool {params.name} not found")
        answer = await anyio.to_thread.run_sync(partial(tools.call, params.name, params.arguments or {}))
        return _result(answer)

    async def list_templates(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[_TEMPLATE])

    async def list_resources(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def read_resource(
        context: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        found = await anyio.to_thread.run_sync(tools.read, str(params.uri))
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"Document not found: {params.uri}")
        return types.ReadResourceResult(contents=[_contents(found)])

    return Server(
        name="qmd",
        version=__version__,
        instructions=tools.overview(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


_TEMPLATE = types.ResourceTemplate(
    name="document",
    title="Document",
    uri_template="qmd://{+path}",
    description="A document of a collection. The search tools find them.",
    mime_type=MIME_TYPE,
)


def run_stdio(tools: Tools) -> None:
    """Serve on stdin and stdout until stdin closes."""
    one = server(tools)

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await one.run(reading, writing, one.create_initialization_options())

    anyio.run(serve)


def http_app(tools: Tools, settings: ServerSettings) -> ASGIApp:
    """`/mcp`, `/health`, and `POST /query` = `POST /search`, behind the gate of every server of ours."""
    started = time.monotonic()

    async def health(request: Request) -> Response:
        return json_response({"status": "ok", "uptime": int(time.monotonic() - started)})

    async def query(request: Request) -> Response:
        try:
            arguments = await read_object(request, settings.body_limit, settings.body_seconds)
        except ApiError as error:
            return error_response(error)
        if not (arguments.get("searches") or arguments.get("query")):
            return error_response(ApiError(400, "Missing required field: searches (array)"))
        answer = await anyio.to_thread.run_sync(partial(tools.call, "query", arguments))
        return (
            error_response(ApiError(400, answer.text))
            if answer.is_error
            else json_response(answer.structured)
        )

    app = server(tools).streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        host=settings.host,
        # The gate looks at Host and Origin; the SDK would do it again, by rules of its own.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[
            Route("/health", health, methods=["GET"]),
            Route("/query", query, methods=["POST"]),
            Route("/search", query, methods=["POST"]),
        ],
    )
    return Gate(app, settings)


def _tool(name: str) -> types.Tool:
    title, description, schema = TOOLS[name]
    return types.Tool(
        name=name, title=title, description=description, input_schema=schema, annotations=_READ_ONLY
    )


def _result(answer: ToolAnswer) -> types.CallToolResult:
    content: list[Any] = []
    if answer.text or not answer.resources:
        content.append(types.TextContent(type="text", text=answer.text))
    content += [
        types.EmbeddedResource(type="resource", resource=_contents(each)) for each in answer.resources
    ]
    return types.CallToolResult(
        content=content, structured_content=answer.structured, is_error=answer.is_error
    )


def _contents(resource: Resource) -> types.TextResourceContents:
    return types.TextResourceContents(uri=resource.uri, mime_type=MIME_TYPE, text=resource.text)
