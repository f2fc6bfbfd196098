"""The coding agents: what their hooks are called, and how much of a hook's text each one takes.

Observed of pi 0.73, Claude Code 2.1, Codex CLI 0.171, opencode 1.18 and Gemini CLI 0.61.
"""

from __future__ import annotations

from typing import NamedTuple

# Claude Code takes 10,000 UTF-16 units of a hook and Codex 10,000 bytes of UTF-8; of more the model sees a
# part, and the rest is written to a file of theirs. A text has no more UTF-16 units than bytes.
NARROW_BYTES = 9_500
WIDE_BYTES = 14_000


class Host(NamedTuple):
    """One agent.

    `recall` are the events that ask for memory, `begin` those that only say that prompts are to come.
    `escapes`: the text comes back with `<`, `>` and `&` as entities.
    """

    name: str
    title: str
    recall: frozenset[str]
    begin: frozenset[str]
    max_bytes: int
    escapes: bool = False


PI, CLAUDE_CODE, CODEX, OPENCODE, GEMINI_CLI = "pi", "claude-code", "codex", "opencode", "gemini-cli"
_BEGIN = frozenset({"SessionStart"})

HOSTS = {
    host.name: host
    for host in (
        Host(PI, "pi", frozenset({"before_agent_start"}), frozenset({"session_start"}), WIDE_BYTES),
        Host(CLAUDE_CODE, "Claude Code", frozenset({"UserPromptSubmit"}), _BEGIN, NARROW_BYTES),
        Host(CODEX, "Codex CLI", frozenset({"UserPromptSubmit"}), _BEGIN, NARROW_BYTES),
        Host(OPENCODE, "opencode", frozenset({"chat.message"}), frozenset({"session.created"}), WIDE_BYTES),
        Host(GEMINI_CLI, "Gemini CLI", frozenset({"BeforeAgent"}), _BEGIN, WIDE_BYTES, escapes=True),
    )
}
