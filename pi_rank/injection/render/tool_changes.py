"""Tools offered and withdrawn in mid-conversation, in the form that each provider has for it.

Anthropic: `tool_addition` and `tool_removal` in a `system` message, by reference to a declared tool or by
value
(platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages). Bedrock Converse:
`toolAddition`
and `toolRemoval` in the role `system`. OpenAI Responses: an item `additional_tools`; what was withdrawn is
said in
a developer message. Elsewhere all of it is said in text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.history.marks import Mark, text_digest
from pi_rank.injection.history.messages import Block

TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"


class Definition(msgspec.Struct, frozen=True):
    """A tool's name, description and JSON schema, whichever provider's form it came in."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def digest(self) -> str:
        """What tells one definition from another of the same name."""
        return text_digest(json.dumps([self.name, self.description, self.schema], sort_keys=True))


class ToolChange(msgspec.Struct, frozen=True):
    """What one block changes, as its mark keeps it.

    `added` maps names to the digest of a definition, "" for a tool that is declared in the request's `tools`;
    `definitions` holds those of them that the conversation did not hold yet. `text` is the operator's own.
    """

    added: dict[str, str] = {}
    removed: tuple[str, ...] = ()
    definitions: dict[str, Definition] = {}
    text: str = ""


def read_definition(tool: dict[str, Any]) -> Definition:
    """The definition in a tool of Anthropic's, OpenAI's (Chat and Responses) or Bedrock's form.

    :raises ContextError: it has no name.
    """
    inner = tool.get("function") or tool.get("toolSpec") or tool
    schema = inner.get("input_schema") or inner.get("parameters") or inner.get("inputSchema") or {}
    name = inner.get("name")
    if not isinstance(name, str) or not name:
        raise ContextError(f"a tool needs a name; this has the keys {', '.join(sorted(map(str, tool)))}")
    return Definition(name, inner.get("description") or "", schema.get("json", schema))


def anthropic_tool(tool: Definition) -> dict[str, Any]:
    """A `tools` entry of Anthropic's."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def openai_tool(tool: Definition) -> dict[str, Any]:
    """A `tools` entry of OpenAI Responses."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def change_of(mark: Mark | None) -> ToolChange | None:
    """What a block changes about tools; None for a block of text, or a half-written one."""
    if mark is None or not mark.tools:
        return None
    try:
        return msgspec.convert(mark.tools, ToolChange)
    except msgspec.ValidationError:
        return None


def sentences(change: ToolChange) -> str:
    """The change in words, for models that have no other form for it."""
    added = [f"The tool `{name}` is available from here on." for name in change.added]
    removed = [f"The tool `{name}` is no longer available; do not call it." for name in change.removed]
    return "\n".join([*([change.text] if change.text else []), *added, *removed])


def anthropic_parts(change: ToolChange, known: dict[str, Definition]) -> Iterator[dict[str, Any]]:
    """The parts of the `system` message: additions, removals, the operator's text."""
    for name, digest in change.added.items():
        tool: dict[str, Any] = {"type": "tool_reference", "name": name}
        if digest in known:
            tool = {"type": "tool_definition", "definition": anthropic_tool(known[digest])}
        yield {"type": "tool_addition", "tool": tool}
    for name in change.removed:
        yield {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}
    if change.text:
        yield {"type": "text", "text": change.text}


def bedrock_parts(change: ToolChange) -> Iterator[dict[str, Any]]:
    """The same for Converse, which has references only."""
    for key, names in (("toolAddition", change.added), ("toolRemoval", change.removed)):
        yield from ({key: {"tool": {"type": "tool_reference", "name": name}}} for name in names)
    if change.text:
        yield {"text": change.text}


def responses_items(change: ToolChange, known: dict[str, Definition]) -> Iterator[dict[str, Any]]:
    """The items of OpenAI Responses: definitions in one item, the rest in the developer's words."""
    tools = [openai_tool(known[digest]) for digest in change.added.values() if digest in known]
    if tools:
        yield {"type": "additional_tools", "role": "developer", "tools": tools}
    said = sentences(
        ToolChange({n: d for n, d in change.added.items() if d not in known}, change.removed, {}, change.text)
    )
    if said:
        yield {"role": "developer", "content": [{"type": "input_text", "text": said}]}


def definitions_in(blocks: Iterable[Block]) -> dict[str, Definition]:
    """Every definition that the blocks hold, by digest."""
    found: dict[str, Definition] = {}
    for block in blocks:
        change = change_of(block.mark)
        if change is not None:
            found.update(change.definitions)
    return found


def betas_of(rendered: list[dict[str, Any]]) -> list[str]:
    """Values of Anthropic's header `anthropic-beta` that rendered messages need."""
    needed = set()
    for message in rendered:
        if message["role"] != "system":
            continue
        needed |= {CLEAR_AT} if message.get("clear_at") else set()
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("type") in ("tool_addition", "tool_removal"):
                needed.add(TOOL_CHANGES)
                tool = part.get("tool")
                by_value = isinstance(tool, dict) and tool.get("type") == "tool_definition"
                needed |= {INLINE_TOOLS} if by_value else set()
    return sorted(needed)
