"""The least answers that coding agents accept of a model, in the four shapes in which they ask."""

from __future__ import annotations

import json

REPLY = "SCRIPTED REPLY"
COMMAND = "echo TOOL-RAN"
TOOL_WORD = "USETOOL"
SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")


def texts(body):
    """[(role, [text of each part])] of a request's messages, whatever its shape."""
    found = []
    for item in body.get("messages") or body.get("input") or body.get("contents") or []:
        content = item.get("content", item.get("parts"))
        parts = [content] if isinstance(content, str) else content or []
        said = [part if isinstance(part, str) else part.get("text") or "" for part in parts]
        found.append((item.get("role", item.get("type")), said))
    return found


def _has_result(item):
    parts = item.get("content", item.get("parts"))
    marks = {"tool_result", "functionResponse"}
    inside = any(
        part.get("type") in marks or marks & part.keys() for part in parts or [] if isinstance(part, dict)
    )
    return item.get("role") == "tool" or str(item.get("type", "")).endswith("_output") or inside


def asks_for_tool(body):
    """Whether the newest words with TOOL_WORD have neither an answer nor a tool's result after them."""
    items = body.get("messages") or body.get("input") or body.get("contents") or []
    open_call = False
    for item, (role, said) in zip(items, texts(body), strict=True):
        if role in ("assistant", "model") or _has_result(item) or str(item.get("type", "")).endswith("_call"):
            open_call = False
        elif role == "user" and any(TOOL_WORD in text for text in said):
            open_call = True
    return open_call


def shell_call(body):
    """(name, arguments) of the shell that the request offers; None where there is none."""
    offered = {}
    for tool in body.get("tools") or []:
        for each in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            schema = (
                each.get("input_schema") or each.get("parametersJsonSchema") or each.get("parameters") or {}
            )
            offered[each.get("name")] = schema.get("properties") or {}
    name = next((name for name in SHELLS if name in offered), None)
    if name is None:
        return None
    fields = offered[name]
    key = "cmd" if "cmd" in fields else "command"
    is_list = str(fields.get(key, {}).get("type")).lower() == "array"
    arguments = {key: ["bash", "-lc", COMMAND] if is_list else COMMAND}
    return name, {**arguments, **({"description": "prints a line"} if "description" in fields else {})}


def anthropic(body, number, call):
    """Events of the Messages API."""
    kind = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}} if call else None
    block = kind or {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        if call
        else {"type": "text_delta", "text": REPLY}
    )
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"), "content":
        [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        whole = {**block, "input": call[1]} if call else {"type": "text", "text": REPLY}
        return {**message, "content": [whole], "stop_reason": "tool_use" if call else "end_turn"}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]


def chat(body, number, call):
    """Chunks of the Chat Completions API."""
    message = {"role": "assistant", "content": None if call else REPLY}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [
            {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        ]
    base = {"id": f"chatcmpl-{number}", "created": 1, "model": body.get("model")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    why = "tool_calls" if call else "stop"
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": why}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**base, "object": "chat.completion.chunk"}
    return [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
        {**chunk, "choices": [], "usage": usage},
        "[DONE]",
    ]


def responses(body, number, call):
    """Events of the Responses API."""
    if call:
        item = {
            "id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": f"call_{number}",
            "name": call[0], "arguments": json.dumps(call[1]),
        }  # fmt: skip
        opened = {**item, "status": "in_progress", "arguments": ""}
    else:
        part = {"type": "output_text", "text": REPLY, "annotations": []}
        item = {
            "id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant", "content":
            [part],
        }  # fmt: skip
        opened = {**item, "status": "in_progress", "content": []}
    usage = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    }  # fmt: skip
    whole = {
        "id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed",
        "model": body.get("model"), "output": [item], "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        return whole
    at = {"output_index": 0, "item_id": item["id"]}
    if call:
        middle = [
            {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]},
            {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]},
        ]
    else:
        inside = {**at, "content_index": 0}
        middle = [
            {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **inside, "delta": REPLY},
            {"type": "response.output_text.done", **inside, "text": REPLY},
            {"type": "response.content_part.done", **inside, "part": part},
        ]
    events = [
        {
            "type": "response.created",
            "response": {**whole, "status": "in_progress", "output": [], "usage": None},
        },
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *middle,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [{**event, "sequence_number": at} for at, event in enumerate(events)]


def gemini(body, number, call):
    """The one event of streamGenerateContent."""
    part = (
        {"functionCall": {"id": f"fc{number}", "name": call[0], "args": call[1]}} if call else {"text": REPLY}
    )
    if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
        part = {"text": "{}"}
    return [
        {
            "candidates": [
                {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "scripted",
            "responseId": f"r{number}",
        }
    ]
