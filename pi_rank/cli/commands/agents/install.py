"""`pi-rank install|uninstall|installed`: memory in the configuration of coding agents."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_rank.agents.hosts import CODEX, HOSTS, OPENCODE, PI
from pi_rank.cli import arguments as options
from pi_rank.cli.output import note, print_json, print_table
from pi_rank.cli.session import embed, tell_problems

if TYPE_CHECKING:
    from pi_rank.agents.install.changes import Change
    from pi_rank.agents.install.targets import Request

EPILOG = """\
examples:
  pi-rank install claude-code --dry-run
  pi-rank install pi --project
  pi-rank uninstall claude-code

What changes is shown first, as a diff. The rest of each file stays as it is, byte for byte, comments
included; the
file as it was is kept in your data folder, and `pi-rank uninstall` brings it back. Installing twice changes
nothing.
"""
# What an agent wants of its user, once.
ADVICE = {
    CODEX: "Codex skips hooks that nobody has reviewed, in silence: start it and review this one with /hooks",
    OPENCODE: "opencode fetches @opencode-ai/plugin from npm when it first starts with a plugin",
    PI: "pi reads its extensions when it starts, or after /reload",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `install`."""
    _declare(parser)
    parser.add_argument(
        "--deadline-ms",
        type=options.whole_number(1),
        metavar="MS",
        help="what a hook may take (800); a model of your own may need more",
    )
    parser.set_defaults(run=run)


def configure_uninstall(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `uninstall`."""
    _declare(parser)
    parser.set_defaults(run=run_uninstall, deadline_ms=None)


def configure_installed(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `installed`."""
    options.add_json(parser)
    parser.set_defaults(run=run_installed)


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("agent", choices=list(HOSTS), metavar="AGENT", help=", ".join(HOSTS))
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--user",
        action="store_const",
        const="user",
        dest="scope",
        default="user",
        help="for all your projects",
    )
    scope.add_argument(
        "--project", action="store_const", const="project", dest="scope", help="for the folder you are in"
    )
    parser.add_argument("--no-mcp", action="store_true", help="leave the MCP server out")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Install, or say that nothing is to be done."""
    from pi_rank.agents.install import changes, commands
    from pi_rank.agents.install.ledger import Ledger

    ledger, request = Ledger(), _request(arguments)
    if request.mcp and not commands.has_mcp():
        request = request._replace(mcp=False)
        note("the MCP server is left out: its packages are not installed (pip install 'pi-rank[mcp]')")
    planned = [each for each in changes.installation(request, ledger) if each.now != each.then]
    _show(planned, as_json=arguments.json)
    for change in [] if arguments.dry_run else planned:
        backup = changes.install(change, request.agent, ledger)
        note(f"wrote {change.path}" + (f"; as it was: {backup}" if backup else ""))
    if not planned:
        note(f"{HOSTS[request.agent].title} has it already")
    elif not arguments.dry_run:
        _read_memory()
        if request.agent in ADVICE:
            note(ADVICE[request.agent])
    return 0


def _read_memory() -> None:
    """Read the memory now: what a first prompt would have to wait for, it goes without."""
    from pi_rank.engine import MemoryEngine
    from pi_rank.memory.root import find_memory_root

    root = find_memory_root(None, Path.cwd())
    if not root.is_dir():
        note(f"there is no memory at {root} yet; prompts go without it until there is")
        return
    with MemoryEngine.open(root) as engine:
        tell_problems(embed(engine))


def run_uninstall(arguments: argparse.Namespace) -> int:
    """Take it out again."""
    from pi_rank.agents.install import changes
    from pi_rank.agents.install.ledger import Ledger

    ledger, request = Ledger(), _request(arguments)
    planned = changes.removal(request, ledger)
    changed = [each for each in planned if each.now != each.then]
    _show(changed, as_json=arguments.json)
    for change in (
        [] if arguments.dry_run else reversed(planned)
    ):  # the last file of a folder takes that along
        changes.uninstall(change, request.agent, ledger)
    for change in [] if arguments.dry_run else changed:
        note(f"{'removed' if change.then is None else 'wrote'} {change.path}")
    if not changed:
        note(f"{HOSTS[request.agent].title} has nothing of pi-rank")
    return 0


def run_installed(arguments: argparse.Namespace) -> int:
    """List agents and scopes, and why the last hook that failed did."""
    from pi_rank.agents.failures import failures_file, last_failure

    rows = [_state(agent, scope) for agent in HOSTS for scope in ("user", "project")]
    failure = last_failure()
    if arguments.json:
        print_json({"agents": rows, "last_failure": failure or None})
        return 0
    print_table(["agent", "for", "state", "file"], [[str(value) for value in row.values()] for row in rows])
    if failure:
        note(f"the last hook that recalled nothing: {failure} (all: {failures_file()})")
    return 0


def _state(agent: str, scope: Any) -> dict[str, str]:  # noqa: ANN401 - one of the scopes
    from pi_rank.agents.install import changes, commands
    from pi_rank.agents.install.ledger import Ledger
    from pi_rank.agents.install.targets import Request
    from pi_rank.errors import ConfigError

    request = Request(agent, scope, Path.cwd(), os.environ, mcp=commands.has_mcp())
    row = {"agent": agent, "for": scope}
    try:
        found = changes.installation(request, Ledger())
    except ConfigError as error:
        return {**row, "state": f"unknown: {error}", "file": ""}
    hook = found[0]
    if hook.now == hook.then:
        state = "installed"
    else:
        state = "not installed" if hook.now == hook.without else "installed by another version or place"
    return {**row, "state": state, "file": str(hook.path)}


def _request(arguments: argparse.Namespace) -> Request:
    from pi_rank.agents.install.targets import Request

    return Request(
        agent=arguments.agent,
        scope=arguments.scope,
        folder=Path.cwd(),
        environment=os.environ,
        deadline_ms=arguments.deadline_ms,
        mcp=not arguments.no_mcp,
    )


def _show(planned: list[Change], *, as_json: bool) -> None:
    if as_json:
        print_json([{"file": str(change.path), "diff": change.diff} for change in planned])
    else:
        print(*(change.diff for change in planned), sep="", end="")
    sys.stdout.flush()  # before what is then done is told on stderr
