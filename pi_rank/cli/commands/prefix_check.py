"""`pi-rank prefix-check REQUESTS.jsonl`: the prefix check on the command line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.prefix_check import DECLARABLE, Break, Report, Request, check_prefixes
from pi_rank.injection.segments import CONVERSATION_KEYS

DESCRIPTION = """\
Check that every request of a conversation has the one before it as its prefix.

REQUESTS.jsonl holds one conversation: a request body per line (Anthropic, Bedrock, OpenAI Chat or
Responses, Gemini), in the order in which they were sent. A line {"body": {...}, "declared": "compaction"}
says why a prefix may change.
Exit code: 0 no undeclared break, 1 at least one, 2 the file cannot be read or holds no request."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its own parser; `args.run` is its function."""
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("requests", metavar="REQUESTS.jsonl", help="the file, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--declare",
        metavar="N=REASON",
        action="append",
        default=[],
        help=f"allow request N (from 1) to break the prefix; REASON is one of {', '.join(DECLARABLE)}",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the check and print the report."""
    try:
        report = check_prefixes(_with_declared(_read(args.requests), args.declare))
    except (ContextError, OSError) as error:
        print(f"pi-rank prefix-check: {error}", file=sys.stderr)
        return 2
    print(_as_json(report) if args.json else _as_text(report))
    return 1 if report.undeclared else 0


def _read(name: str) -> list[Request]:
    text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    requests = [_request(name, at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not requests:  # a log that caught nothing must not pass for a conversation without a break
        raise ContextError(f"{name} holds no request")
    return requests


def _request(name: str, at: int, line: str) -> Request:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ContextError(f"{name}, line {at} is not JSON: {error}") from None
    wrapped = isinstance(value, dict) and isinstance(value.get("body"), dict)
    request = Request(value["body"], str(value.get("declared") or "")) if wrapped else Request(value)
    if not isinstance(request.body, dict) or not set(CONVERSATION_KEYS) & request.body.keys():
        keys = ", ".join(f'"{key}"' for key in CONVERSATION_KEYS)
        raise ContextError(f"{name}, line {at} is no request body: it has none of {keys}")
    return request


def _with_declared(requests: list[Request], declared: list[str]) -> list[Request]:
    for item in declared:
        number, _, reason = item.partition("=")
        if not number.isdecimal() or not 1 <= int(number) <= len(requests):
            raise ContextError(f"--declare {item}: N must be a request from 1 to {len(requests)}")
        requests[int(number) - 1] = Request(requests[int(number) - 1].body, reason)
    return requests


def _as_json(report: Report) -> str:
    values = {**msgspec.to_builtins(report), "undeclared": len(report.undeclared)}
    return json.dumps(values, indent=2)


def _as_text(report: Report) -> str:
    lines = [_break_line(item) for item in report.breaks]
    lines.append(
        f"{report.requests} requests, {len(report.undeclared)} undeclared breaks, "
        f"{len(report.breaks) - len(report.undeclared)} declared; "
        f"kept prefix {report.kept_prefix_ratio:.1%}, cached {report.cached_prefix_ratio:.1%}; "
        f"{report.rewritten_bytes:,} bytes rewritten, "
        f"{report.thinking_invalidated} thinking blocks invalidated"
    )
    return "\n".join(lines)


def _break_line(item: Break) -> str:
    why = f"declared: {item.declared}" if item.declared else "BREAK"
    return (
        f"request {item.request}: {why} at {item.path}; {item.rewritten_bytes:,} bytes rewritten, "
        f"{item.thinking_invalidated} thinking blocks invalidated"
    )
