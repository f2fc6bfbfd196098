"""Messages of each dialect, built by hand: the shapes that users have."""

from __future__ import annotations

from typing import Any

DIALECTS = ("strands", "anthropic", "openai_chat", "openai_responses")


def user(text: str, dialect: str) -> dict[str, Any]:
    if dialect == "strands":
        return {"role": "user", "content": [{"text": text}]}
    if dialect == "openai_responses":
        return {"role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str, dialect: str) -> dict[str, Any]:
    if dialect == "strands":
        return {"role": "assistant", "content": [{"text": text}]}
    if dialect == "openai_responses":
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": "message", "role": "assistant", "content": content}
    if dialect == "anthropic":
        thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
        return {"role": "assistant", "content": [thinking, {"type": "text", "text": text}]}
    return {"role": "assistant", "content": text}


def tool_call(*ids: str, dialect: str) -> list[dict[str, Any]]:
    """The assistant's calls of `lookup`: one message, or one item per call."""
    if dialect == "strands":
        calls = [{"toolUse": {"toolUseId": i, "name": "lookup", "input": {"q": i}}} for i in ids]
        return [{"role": "assistant", "content": calls}]
    if dialect == "anthropic":
        calls = [{"type": "tool_use", "id": i, "name": "lookup", "input": {"q": i}} for i in ids]
        return [{"role": "assistant", "content": calls}]
    arguments = {i: f'{{"q":"{i}"}}' for i in ids}
    if dialect == "openai_chat":
        calls = [
            {"id": i, "type": "function", "function": {"name": "lookup", "arguments": arguments[i]}}
            for i in ids
        ]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    return [{"type": "function_call", "call_id": i, "name": "lookup", "arguments": arguments[i]} for i in ids]


def tool_result(*ids: str, dialect: str, output: str = "42") -> list[dict[str, Any]]:
    """The answers to `tool_call`: one message of results, or one per result."""
    if dialect == "strands":
        return [
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": i, "status": "success", "content": [{"text": output}]}}
                    for i in ids
                ],
            }
        ]
    if dialect == "anthropic":
        results = [{"type": "tool_result", "tool_use_id": i, "content": output} for i in ids]
        return [{"role": "user", "content": results}]
    if dialect == "openai_chat":
        return [{"role": "tool", "tool_call_id": i, "content": output} for i in ids]
    return [{"type": "function_call_output", "call_id": i, "output": output} for i in ids]


def texts(message: dict[str, Any]) -> list[str]:
    """The texts of a message's text blocks."""
    if isinstance(message["content"], str):
        return [message["content"]]
    return [block["text"] for block in message["content"] if "text" in block]
