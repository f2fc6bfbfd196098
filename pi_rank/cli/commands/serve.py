"""`pi-rank serve`: memory over HTTP, for SYNAPSE's participants and anybody else who may ask."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.errors import ConfigError

if TYPE_CHECKING:
    from pi_rank.context import SessionContext
    from pi_rank.recall.server.settings import Settings

EPILOG = """\
examples:
  pi-rank serve
  pi-rank serve --root ~/memory --port 0 --cwd ~/work/orchard-api
  pi-rank serve --host 0.0.0.0 --token-file ~/.config/pi-rank/token

The server's URL goes to stdout when it can be asked. What /remember is told is kept in notes.jsonl beside
the store; the memory files are never written. Without --cwd or --profile every active record is recalled;
with one of them, only what applies there. The environment's PI_RANK_API_TOKEN, _RATE, _BURST, _MAX_BODY,
_AUDIT_LOG (a path, or off), _AUDIT_MAX_BYTES and _AUDIT_BACKUPS work too, and REMANENTIA's. Options win.
"""
NEEDS = "pi-rank serve needs starlette, uvicorn and h11: pip install 'pi-rank[serve]'"
USAGE = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `serve`."""
    parser.epilog = EPILOG
    number = options.whole_number
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (%(default)s)")
    parser.add_argument("--port", type=number(0), default=8001, help="port; 0 takes a free one (%(default)s)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="bearer token that callers must show")
    parser.add_argument("--require-auth", action="store_true", help="refuse to start without a token")
    parser.add_argument(
        "--body-limit", type=number(1), metavar="BYTES", help="largest request body (1048576)"
    )
    parser.add_argument("--rate", type=number(0), metavar="N", help="requests a minute; 0 is no limit (1200)")
    parser.add_argument("--burst", type=number(1), metavar="N", help="requests at once (120)")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="further name of this server"
    )
    parser.add_argument("--notes", type=Path, metavar="FILE", help="notes file (beside the store)")
    parser.add_argument("--audit-log", metavar="FILE", help="audit log, or off (beside the store)")
    parser.add_argument("--cwd", metavar="DIR", help="recall what applies in this folder")
    parser.add_argument("--profile", metavar="ID", help="recall what applies to this profile")
    options.add_store(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from pi_rank.memory.trusted import trusting

    with trusting(arguments.trust):
        return _serve(arguments)


def _serve(arguments: argparse.Namespace) -> int:
    from pi_rank.memory.root import find_memory_root
    from pi_rank.store.store import default_store_path

    if any(find_spec(module) is None for module in ("starlette", "uvicorn", "h11")):
        raise ConfigError(NEEDS)
    from pi_rank.recall.server.server import AUDIT_FILE, serve

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="pi-rank: %(message)s")
    root = find_memory_root(arguments.root, options.working_directory(arguments))
    sources = options.sources(arguments)
    named = map(str, sources or ())
    store = Path(arguments.store) if arguments.store else default_store_path(root, named)
    try:
        settings = _settings(arguments, store.with_name(AUDIT_FILE))
    except ConfigError as error:
        print(f"pi-rank serve: {error}", file=sys.stderr)
        return USAGE
    serve(
        settings,
        root,
        store=store,
        model=options.model_name(arguments),
        notes=arguments.notes,
        scope=_scope(arguments),
        sources=sources,
        announce=lambda url: _announce(url, as_json=arguments.json),
    )
    return 0


def _announce(url: str, *, as_json: bool) -> None:
    print(json.dumps({"url": url}) if as_json else url, flush=True)


def _settings(arguments: argparse.Namespace, default_audit: Path) -> Settings:
    from pi_rank.recall.server import settings
    from pi_rank.serving import settings as common

    def given(value: int | None, name: str, default: int) -> int:
        return settings.number_variable(name, default) if value is None else value

    environment = {"PI_RANK_API_AUDIT_LOG": arguments.audit_log} if arguments.audit_log else None
    return settings.Settings(
        host=arguments.host,
        port=arguments.port,
        token=common.token_from(arguments.token_file),
        require_auth=arguments.require_auth,
        body_limit=given(arguments.body_limit, "MAX_BODY", common.DEFAULT_BODY_LIMIT),
        rate=given(arguments.rate, "RATE", common.DEFAULT_RATE),
        burst=given(arguments.burst, "BURST", common.DEFAULT_BURST),
        allowed_hosts=tuple(name.lower() for name in arguments.allow_host),
        audit_log=settings.audit_path(default_audit, *([environment] if environment else [])),
        audit_max_bytes=settings.number_variable("AUDIT_MAX_BYTES", settings.DEFAULT_AUDIT_BYTES),
        audit_backups=settings.number_variable("AUDIT_BACKUPS", settings.DEFAULT_AUDIT_BACKUPS),
    )


def _scope(arguments: argparse.Namespace) -> SessionContext | None:
    from pi_rank.context import SessionContext

    if not (arguments.cwd or arguments.profile):
        return None
    return SessionContext(
        latest_user_message="",
        working_directory=arguments.cwd or None,
        profile_id=arguments.profile or None,
    )
