"""What each agent's configuration is to hold, and in which file of the user or the project."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pi_rank.agents.hosts import CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, PI
from pi_rank.agents.install import commands
from pi_rank.agents.install.json_edits import Wanted
from pi_rank.errors import ConfigError

Scope = Literal["user", "project"]
TIMEOUT_SECONDS = 5


class Target(NamedTuple):
    """One file and what is to be in it: elements of JSON, tables of TOML, or the whole of it."""

    path: Path
    purpose: str
    elements: tuple[Wanted, ...] = ()
    tables: str = ""
    whole: str = ""


class Request(NamedTuple):
    """For which agent, for whom, and with what options of the hook."""

    agent: str
    scope: Scope
    folder: Path
    environment: Mapping[str, str]
    deadline_ms: int | None = None
    mcp: bool = True

    @property
    def options(self) -> list[str]:
        """What follows the hook's command."""
        return [] if self.deadline_ms is None else ["--deadline-ms", str(self.deadline_ms)]

    @property
    def timeout(self) -> int:
        """Seconds after which the agent ends the hook: longer than its deadline.

        So that it gives up itself.
        """
        return max(TIMEOUT_SECONDS, (self.deadline_ms or 0) // 1000 + 2)

    @property
    def home(self) -> Path:
        """The user's folder."""
        home = self.environment.get("HOME")
        return Path(home) if home else Path.home()

    def configured(self, variable: str, *default: str) -> Path:
        """The folder that a variable of the agent names, else the one in the user's folder."""
        named = self.environment.get(variable)
        return Path(named) if named else self.home.joinpath(*default)


def targets(request: Request) -> list[Target]:
    """The files of one agent."""
    found = _TARGETS[request.agent](request)
    return [target for target in found if request.mcp or target.purpose != "mcp"]


def _claude_code(request: Request) -> list[Target]:
    user = request.scope == "user"
    folder = request.configured("CLAUDE_CONFIG_DIR", ".claude") if user else request.folder / ".claude"
    settings = folder / ("settings.json" if user else "settings.local.json")
    if user:
        own = request.environment.get("CLAUDE_CONFIG_DIR")
        servers = (Path(own) if own else request.home) / ".claude.json"
    else:
        servers = request.folder / ".mcp.json"
    hooks = _hooks(request, ("UserPromptSubmit", "SessionStart"), {"timeout": request.timeout})
    return [Target(settings, "hook", hooks), Target(servers, "mcp", (_server({"type": "stdio"}),))]


def _gemini_cli(request: Request) -> list[Target]:
    folder = request.home if request.scope == "user" else request.folder
    settings = folder / ".gemini" / "settings.json"
    more = {"name": "pi-rank", "timeout": request.timeout * 1000}
    hooks = _hooks(request, ("BeforeAgent", "SessionStart"), more)
    return [Target(settings, "hook", hooks), Target(settings, "mcp", (_server({}),))]


def _hooks(request: Request, events: Sequence[str], more: Mapping[str, Any]) -> tuple[Wanted, ...]:
    line = commands.hook_line(request.agent, request.options)
    value = {"hooks": [{"type": "command", "command": line, **more}]}

    def is_ours(key: str, found: Any) -> bool:  # noqa: ANN401
        inner = found.get("hooks") if isinstance(found, dict) else None
        return (
            isinstance(inner, list)
            and len(inner) == 1
            and isinstance(inner[0], dict)
            and commands.is_hook_line(inner[0].get("command"), request.agent)
        )

    return tuple(Wanted(("hooks", event), None, value, is_ours) for event in events)


def _server(more: Mapping[str, Any]) -> Wanted:
    program, *words = commands.mcp_words()
    return _named("mcpServers", {**more, "command": program, "args": words})


def _named(place: str, value: Any) -> Wanted:  # noqa: ANN401
    return Wanted((place,), commands.MCP_NAME, value, lambda key, found: key == commands.MCP_NAME)


def _codex(request: Request) -> list[Target]:
    user = request.scope == "user"
    folder = request.configured("CODEX_HOME", ".codex") if user else request.folder / ".codex"
    line = json.dumps(commands.hook_line(CODEX, request.options), ensure_ascii=False)
    tables = [
        f"[[hooks.{event}]]\n[[hooks.{event}.hooks]]\n"
        f'type = "command"\ncommand = {line}\ntimeout = {request.timeout}\n'
        for event in ("UserPromptSubmit", "SessionStart")
    ]
    if request.mcp:
        program, *words = commands.mcp_words()
        tables.append(
            f"[mcp_servers.{commands.MCP_NAME}]\n"
            f"command = {json.dumps(program)}\nargs = {json.dumps(words)}\n"
        )
    return [Target(folder / "config.toml", "hook", tables="\n".join(tables))]


def _pi(request: Request) -> list[Target]:
    user = request.scope == "user"
    folder = request.configured("PI_CODING_AGENT_DIR", ".pi", "agent") if user else request.folder / ".pi"
    return [Target(folder / "extensions" / "pi-rank.ts", "extension", whole=_plugin("pi.ts", request))]


def _opencode(request: Request) -> list[Target]:
    user = request.scope == "user"
    folder = (
        request.configured("XDG_CONFIG_HOME", ".config") / "opencode"
        if user
        else request.folder / ".opencode"
    )
    settings = folder if user else request.folder
    named = next((n for n in ("opencode.jsonc", "opencode.json") if (settings / n).exists()), "opencode.json")
    server = {"type": "local", "command": commands.mcp_words(), "enabled": True}
    return [
        Target(folder / "plugins" / "pi-rank.ts", "extension", whole=_plugin("opencode.ts", request)),
        Target(settings / named, "mcp", (_named("mcp", server),)),
    ]


def _plugin(name: str, request: Request) -> str:
    """An extension with this installation's command in the place of the one on PATH."""
    text = (files("pi_rank.agents") / "plugins" / name).read_text(encoding="utf-8")
    before = 'const COMMAND = ["pi-rank"];\nconst OPTIONS = [];\n'
    if before not in text:
        raise ConfigError(f"the extension {name} of this installation is not whole; install pi-rank again")
    words = (json.dumps(each, ensure_ascii=False) for each in (commands.own_words(), request.options))
    return text.replace(before, "const COMMAND = {};\nconst OPTIONS = {};\n".format(*words))


_TARGETS: dict[str, Callable[[Request], list[Target]]] = {
    PI: _pi,
    CLAUDE_CODE: _claude_code,
    CODEX: _codex,
    OPENCODE: _opencode,
    GEMINI_CLI: _gemini_cli,
}
