"""Tools that come and go in a conversation, without a break of its prefix.

    tools = declare([read, delete_branch], future=[deploy], rules=rules)       # once; the array never changes
    offer(messages, add=["deploy"], remove=["delete_branch"], text="Read-only from now on.")
    client.messages.create(**request(injector, messages, rules, tools=tools, …))
    now = offered(messages, tools)
    if call.name not in now:
        result = now.refusal(call.name)                                        # instead of running it

An edit of `tools` changes the first bytes of every request: caches start anew, and thinking that is bound to
them is refused or lost. So the array stays, and each change is a marked block of the operator's in the
history,
sent in the form that the conversation's pinned rules have for it (`render.tool_changes`), in words where
there
is none. What may be called is read from the conversation alone, and checked on this side too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.call import Call
from pi_rank.injection.history.dialects import Dialect, detect
from pi_rank.injection.history.live import may_hold_marks
from pi_rank.injection.history.messages import Message, RawMessage, view
from pi_rank.injection.history.objects import refuse_objects
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.tool_changes import (
    Definition,
    ToolChange,
    anthropic_tool,
    change_of,
    openai_tool,
    read_definition,
    sentences,
)
from pi_rank.injection.result import InjectionResult
from pi_rank.injection.write import inject_call

SOURCE = "policy"


class Offered(msgspec.Struct, frozen=True):
    """The tools that may be called now, by name, and the definitions of those that the history holds."""

    names: frozenset[str]
    definitions: dict[str, Definition] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def refusal(self, name: str) -> str:
        """What to answer to a call of a tool that may not be called; "" where it may."""
        if name in self.names:
            return ""
        known = ", ".join(sorted(self.names)) or "none"
        return f"The tool {name!r} is not available. Available tools: {known}."


def offer(
    messages: list[RawMessage],
    *,
    add: Iterable[str | dict[str, Any]] = (),
    remove: Iterable[str] = (),
    text: str = "",
    source: str = SOURCE,
    dialect: Dialect | None = None,
) -> InjectionResult:
    """Write a change of tools into the conversation: one block of the operator's, at its newest message.

    Call it before the model is called, after a user's message or tool results. What is so already is left
    out;
    where nothing is left and there is no text, nothing is written. A change must never be made from text that
    the operator did not write.

    :param add: names of tools in the request's `tools` (with `declare`, its `future` ones); or definitions in
        any provider's form, for tools that are in none.
    :param remove: names of tools that may not be called from here on.
    :param text: said with it, in the operator's words.
    :raises ContextError: a definition has no name, or a tool is both added and removed.
    :raises TypeError: the messages are a framework's objects.
    """
    found = dialect or detect(messages)
    change, count = _change(messages, found, list(add), list(remove), text)
    call = Call(
        messages=refuse_objects(messages),
        source=f"{source}#{count + 1}",
        dialect=found,
        trigger="every_turn",
        rendering="system",
        operator_text=True,
        tools=_as_dict(change),
    )
    if not (change.added or change.removed or text):
        return call.outcome("nothing_new", "the tools are so already")
    return inject_call(call, sentences(change))


def offered(
    messages: Sequence[Any], declared: Iterable[dict[str, Any]], dialect: Dialect | None = None
) -> Offered:
    """The tools that may be called now: the declared ones, then the changes in the history, in order.

    Deferred tools count from where a change, or a search for tools, offers them.

    :param declared: the request's `tools`.
    """
    tools = [tool for tool in declared if "cachePoint" not in tool]
    names = {_name(tool) for tool in tools if not tool.get("defer_loading")} - {""}
    definitions: dict[str, Definition] = {}
    for message in view(messages, dialect):
        names |= set(_found_by_search(message.raw))
        for change in _changes(message):
            names = (names | change.added.keys()) - set(change.removed)
            definitions.update({tool.name: tool for tool in change.definitions.values()})
    return Offered(frozenset(names), {name: tool for name, tool in definitions.items() if name in names})


def declare(
    tools: Iterable[dict[str, Any]], future: Iterable[dict[str, Any]] = (), *, rules: RenderRules
) -> list[dict[str, Any]]:
    """The request's `tools`, the same bytes for the life of the conversation.

    `future` are tools that a change may offer later. Anthropic gets them with `defer_loading`: they are not
    shown, and no part of the prefix. OpenAI Responses gets them with the change. Elsewhere they are declared
    at once, and until they are offered only `offered` keeps them from being called.

    :param tools: definitions in any provider's form; those in the rules' own form stay as they are.
    :raises ContextError: two tools have one name, or, for Anthropic, all of them are deferred.
    """
    now, later = list(tools), list(future)
    if rules.provider == "openai_responses" and rules.tool_changes == "additional_tools":
        later = []
    names = [_name(tool) for tool in (*now, *later)]
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        raise ContextError(f"each tool is declared once; twice are: {', '.join(twice)}")
    defers = rules.provider == "anthropic" and rules.tool_changes == "blocks"
    if defers and later and not now:
        raise ContextError("Anthropic needs one tool that is not deferred: move one from future to tools")
    deferred = [{**_formed(tool, rules), **({"defer_loading": True} if defers else {})} for tool in later]
    return [_formed(tool, rules) for tool in now] + deferred


def tool_choice(
    messages: Sequence[Any],
    declared: Iterable[dict[str, Any]],
    rules: RenderRules,
    dialect: Dialect | None = None,
) -> dict[str, Any] | None:
    """OpenAI's `tool_choice` that leaves out what was withdrawn, without a change of `tools`.

    None where nothing was, or where the model has no form for it: `offered` still refuses the call then.
    """
    tools = [name for name in map(_name, declared) if name]
    now = offered(messages, declared, dialect)
    inline = sorted(now.definitions.keys() - set(tools))
    if set(tools) <= now.names or rules.allowed_tools == "none":
        return None
    if inline and rules.allowed_tools != "all":
        return None
    named = [{"type": "function", "name": name} for name in (*tools, *inline) if name in now]
    if rules.provider == "openai_responses":
        return {"type": "allowed_tools", "mode": "auto", "tools": named}
    nested = [{"type": "function", "function": {"name": tool["name"]}} for tool in named]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": nested}}


def _change(
    messages: Sequence[Any], dialect: Dialect, add: list[str | dict[str, Any]], remove: list[str], text: str
) -> tuple[ToolChange, int]:
    """What is left of a change after what the history says already, and how many changes that holds."""
    state: dict[str, str | None] = {}  # name → digest where it was added last, None where it was removed last
    count = 0
    for message in view(messages, dialect):
        for change in _changes(message):
            count += 1
            state.update(change.added)
            state.update(dict.fromkeys(change.removed))
    given = [read_definition(tool) for tool in add if not isinstance(tool, str)]
    wanted = {tool: "" for tool in add if isinstance(tool, str)} | {tool.name: tool.digest for tool in given}
    if both := sorted(wanted.keys() & set(remove)):
        raise ContextError(f"tools are either added or removed, not both: {', '.join(both)}")
    added = {
        name: digest for name, digest in wanted.items() if state.get(name) != digest or name not in state
    }
    removed = tuple(dict.fromkeys(name for name in remove if name not in state or state[name] is not None))
    definitions = {tool.digest: tool for tool in given if tool.name in added}
    return ToolChange(added, removed, definitions, text), count


def _changes(message: Message) -> Iterator[ToolChange]:
    if message.role != "user" or not may_hold_marks(message.raw):
        return
    for block in message.blocks:
        change = change_of(block.mark)
        if change is not None:
            yield change


def _found_by_search(raw: Any) -> Iterator[str]:  # noqa: ANN401 - any message or part of one
    """Names of deferred tools that a search for tools has brought up, by the provider or by the client."""
    if isinstance(raw, list):
        for item in raw:
            yield from _found_by_search(item)
    elif isinstance(raw, dict):
        if raw.get("type") == "tool_reference" and isinstance(raw.get("tool_name"), str):
            yield raw["tool_name"]
        if raw.get("type") == "tool_search_output" and isinstance(raw.get("tools"), list):
            yield from filter(None, map(_name, raw["tools"]))
        for key in ("content", "tool_references"):
            yield from _found_by_search(raw.get(key))


def _name(tool: Any) -> str:  # noqa: ANN401 - any provider's tool; its own ones may have no name
    inner = (tool.get("function") or tool.get("toolSpec") or tool) if isinstance(tool, dict) else {}
    name = inner.get("name")
    return name if isinstance(name, str) else ""


def _formed(tool: dict[str, Any], rules: RenderRules) -> dict[str, Any]:
    """A tool in the form of the rules' provider; its own, and tools without a schema, as they are."""
    own = {
        "anthropic": "input_schema" in tool,
        "bedrock": "toolSpec" in tool,
        "openai_chat": "function" in tool,
        "openai_responses": "parameters" in tool,
    }
    shaped = {"input_schema", "toolSpec", "function", "parameters"} & tool.keys()
    if own[rules.provider] or not shaped:
        return tool
    neutral = read_definition(tool)
    if rules.provider == "anthropic":
        return anthropic_tool(neutral)
    if rules.provider == "openai_responses":
        return openai_tool(neutral)
    if rules.provider == "openai_chat":
        function = {k: v for k, v in openai_tool(neutral).items() if k not in ("type", "strict")}
        return {"type": "function", "function": function}
    described = {"description": neutral.description} if neutral.description else {}
    return {"toolSpec": {"name": neutral.name, **described, "inputSchema": {"json": neutral.schema}}}


def _as_dict(change: ToolChange) -> dict[str, Any]:
    encoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(change))
    return encoded
