"""A local HTTP server that answers as Anthropic's and OpenAI's do, keeps every request, and is as strict."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ALLOWED = {
    "anthropic": {"role", "content"},
    "chat": {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "annotations"},
}


class Recorder:
    """The requests of one test, and how many of the next answers fail first."""

    def __init__(self):
        self.bodies = []
        self.headers = []
        self.failures = 0


def answer(path: str, body: dict, number: int) -> dict:
    text = f"answer {number}"
    asked = json.dumps((body.get("messages") or body.get("input"))[-1:])
    calls = [f"t{number}_{i}" for i in range(2 if "look up both" in asked else "look up" in asked)]
    if path.endswith("/messages"):
        content = [{"type": "thinking", "thinking": "hm", "signature": f"sig{number}"}]
        content += [{"type": "tool_use", "id": i, "name": "lookup", "input": {}} for i in calls]
        content += [] if calls else [{"type": "text", "text": text}]
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": f"m{number}", "type": "message", "role": "assistant", "model": body["model"]}
        stop = "tool_use" if calls else "end_turn"
        return {**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    if path.endswith("/chat/completions"):
        function = {"name": "lookup", "arguments": "{}"}
        message = {"role": "assistant", "content": None if calls else text}
        if calls:
            message["tool_calls"] = [{"id": i, "type": "function", "function": function} for i in calls]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    part = {"type": "output_text", "text": text, "annotations": []}
    output = [
        {"type": "message", "id": f"m{number}", "role": "assistant", "status": "completed", "content": [part]}
    ]
    if calls:
        output = [
            {"type": "function_call", "id": i, "call_id": i, "name": "lookup", "arguments": "{}"}
            for i in calls
        ]
    return {"id": f"r{number}", "object": "response", "created_at": 0, "model": "m", "output": output}


def refusal(path: str, body: dict) -> str:
    """What the provider would say against the request, "" for nothing."""
    for item in body.get("messages") or body["input"]:
        kind = "anthropic" if path.endswith("/messages") else "chat"
        unknown = (
            item.keys() & {"metadata", "tracking_id"} if "input" in body else item.keys() - ALLOWED[kind]
        )
        parts = item.get("content") if isinstance(item.get("content"), list) else []
        unknown |= {"metadata"} if any("metadata" in part for part in parts) else set()
        unknown -= {"clear_at"} if item.get("role") == "system" else set()
        if unknown:
            return f"{sorted(unknown)}: Extra inputs are not permitted"
    if path.endswith("/messages"):
        return misplaced(body)
    return pending(body) if path.endswith("/chat/completions") else ""


def misplaced(body: dict) -> str:
    """Anthropic: system messages after a user's, before the assistant's or last; known tools in them."""
    roles = [message["role"] for message in body["messages"]] + ["assistant"]
    declared = {tool["name"] for tool in body.get("tools", [])}
    for index, message in enumerate(body["messages"]):
        if message["role"] != "system":
            continue
        if not index or roles[index - 1] == "assistant" or roles[index + 1] == "user":
            return f"messages.{index}: role 'system' must follow a user message and precede an assistant's"
        for part in message["content"]:
            tool = part.get("tool", {})
            if tool.get("type") == "tool_definition":
                declared.add(tool["definition"]["name"])
            elif tool and tool["name"] not in declared:
                return f"messages.{index}: tool_reference_unresolved: {tool['name']}"
    return ""


def pending(body: dict) -> str:
    """OpenAI: tool messages directly after their calls."""
    waiting: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            waiting.discard(message["tool_call_id"])
        elif waiting:
            return "An assistant message with 'tool_calls' must be followed by tool messages"
        waiting |= {call["id"] for call in message.get("tool_calls", [])}
    return ""


@contextmanager
def recording_server():
    """The server's base URL, and its recorder."""
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            recorder.bodies.append(body)
            recorder.headers.append(dict(self.headers))
            error = refusal(self.path, body)
            status, value = (400, {"error": {"message": error}}) if error else (200, None)
            if recorder.failures:
                recorder.failures -= 1
                status, value = 529, {"error": {"message": "overloaded"}}
            data = json.dumps(value or answer(self.path, body, len(recorder.bodies))).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            """Tests read the recorder instead."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
