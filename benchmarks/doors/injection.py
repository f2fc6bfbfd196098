"""Injection: bytes written and cache kept over 50 turns by every design, and the cost of a turn's injection.

    python -m benchmarks injection [--out FOLDER] [--model default]

Prints two tables and a plot; `--out` also writes the raw numbers and the plot as SVG.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, count
from pathlib import Path
from typing import Any

from benchmarks.doors.injection_session import DESIGNS, TODAY, TURNS, Session, prompts, write_root
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from pi_rank.injection import Injector, inject, own_words
from pi_rank.injection.render import pin_rules, render
from pi_rank.results import RetrievalContext

LENGTHS = (10, 100, 1_000)
ROUNDS = 100
BAR = 40  # characters of the longest bar


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 1 if a claim of the documentation does not hold."""
    parser = argparse.ArgumentParser(prog="benchmarks injection", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for injection.json and injection.svg")
    parser.add_argument(
        "--model", default=None, help="embedding model of the retrieval timed; none by default"
    )
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        root = write_root(Path(folder) / "root")
        model = args.model or HashingEmbedder()
        with MemoryEngine.open(root, store=Path(folder) / "store.sqlite3", model=model) as engine:
            engine.sync()
            designs = [measure_design(design, engine) for design in DESIGNS]
            costs = measure_costs(engine)
    print(design_table(designs), bars(designs), cost_table(costs), sep="\n\n")
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        raw = json.dumps({"designs": designs, "costs": costs}, indent=1)
        (args.out / "injection.json").write_text(raw + "\n", encoding="utf-8")
        (args.out / "injection.svg").write_text(svg(designs), encoding="utf-8")
    failed = [claim for claim, holds in claims(designs, costs).items() if not holds]
    print(*(f"does not hold: {claim}" for claim in failed), sep="\n")
    return 1 if failed else 0


def measure_design(design: str, engine: MemoryEngine) -> dict[str, Any]:
    """One session's totals: `stored` in the history at the end, `resent` in all fifty requests together."""
    session = Session(design, engine)
    report = session.run()
    persisted = design.startswith("persist")
    sent = list(accumulate(session.written)) if persisted else session.written
    return {
        "design": design,
        "written": sum(session.written),
        "stored": sum(session.written) if persisted else 0,
        "resent": sum(sent),
        "per_turn": session.written,
        "lacking": session.lacking,
        "breaks": len(report.breaks),
        "kept": report.kept_prefix_ratio,
        "cached": report.cached_prefix_ratio,
        "thinking_invalidated": report.thinking_invalidated,
    }


def measure_costs(engine: MemoryEngine) -> list[dict[str, Any]]:
    """Best of ROUNDS of each step, in µs of processor time; every retrieval embeds a query of its own."""
    texts = list(prompts())
    turns = (SessionContext(latest_user_message=f"{texts[n % TURNS]} ({n})") for n in count())
    rules = pin_rules("anthropic", "claude-opus-5")
    rows = []
    for length in LENGTHS:
        messages = history(length, engine, texts)
        last = messages.pop()
        turn = SessionContext(latest_user_message=own_words([last]))
        context = engine.build_retrieval_context(turn, today=TODAY)

        def write(
            messages: list[dict[str, Any]] = messages,
            last: dict[str, Any] = last,
            context: RetrievalContext = context,
        ) -> None:
            statuses = engine.record_statuses
            inject([*messages, dict(last)], context, source="pi", dialect="anthropic", status_of=statuses)

        def draw(messages: tuple[dict[str, Any], ...] = (*messages, last)) -> None:
            render(messages, rules, dialect="anthropic")

        def retrieve() -> None:
            engine.build_retrieval_context(next(turns), today=TODAY)

        steps = {"inject": write, "render": draw, "retrieval": retrieve}
        rows.append({"messages": length, **{name: best_of(step) for name, step in steps.items()}})
    return rows


def best_of(step: Callable[[], None]) -> float:
    """Microseconds of processor time of the fastest of ROUNDS runs."""
    return min(timed(step) for _ in range(ROUNDS))


def history(length: int, engine: MemoryEngine, texts: list[str]) -> list[dict[str, Any]]:
    """The session as stored after `length` messages, then its next turn; after fifty turns they repeat."""
    messages: list[dict[str, Any]] = []
    injector = Injector(engine, source="pi")
    for turn in range(length // 2):
        messages.append({"role": "user", "content": [{"type": "text", "text": texts[turn % TURNS]}]})
        injector.inject(messages, dialect="anthropic")
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "done"}]})
    text = texts[length // 2 % TURNS]
    return [*messages, {"role": "user", "content": [{"type": "text", "text": text}]}]


def timed(step: Callable[[], Any]) -> float:
    """Microseconds of processor time."""
    started = time.process_time_ns()
    step()
    return (time.process_time_ns() - started) / 1_000


def claims(designs: list[dict[str, Any]], costs: list[dict[str, Any]]) -> dict[str, bool]:
    """What the documentation says, and whether this run bears it out."""
    ours, full = designs[0], designs[1]
    at = {row["messages"]: row["inject"] + row["render"] for row in costs}
    retrieval = next(row["retrieval"] for row in costs if row["messages"] == 100)
    return {
        "at most a third of the bytes of the full block each turn": ours["written"] <= full["written"] / 3,
        "no turn lacks a record that the full block would have shown": ours["lacking"] == 0,
        "no break with persist": ours["breaks"] == full["breaks"] == 0,
        "every other design breaks the prefix": all(item["breaks"] for item in designs[2:]),
        "at most linear in the length of the history": at[1_000] <= 15 * at[100],
        f"under a tenth of the turn's retrieval at 100 messages ({at[100] / retrieval:.0%})": (
            at[100] < retrieval / 10
        ),
    }


def design_table(designs: list[dict[str, Any]]) -> str:
    """The designs side by side."""
    lines = [
        f"{'50 turns, 400 records':<28}{'written':>9}{'stored':>9}{'sent in all':>13}{'breaks':>8}"
        f"{'kept':>8}{'cached':>8}{'thinking lost':>15}"
    ]
    for row in designs:
        lines.append(
            f"{row['design']:<28}{row['written']:>9,}{row['stored']:>9,}{row['resent']:>13,}{row['breaks']:>8}"
            f"{row['kept']:>8.1%}{row['cached']:>8.1%}{row['thinking_invalidated']:>15,}"
        )
    return "\n".join([*lines, "bytes of memory text; kept, cached: share of each request's bytes"])


def bars(designs: list[dict[str, Any]]) -> str:
    """The bytes written, and the share of each request that a cache did not have, as bars."""
    lines = ["memory text written over the session, and uncached share of what was sent"]
    most = max(row["written"] for row in designs)
    for row in designs:
        lines.append(f"{row['design']:<28}{'█' * round(BAR * row['written'] / most)} {row['written']:,}")
        lines.append(f"{'':<28}{'░' * round(BAR * (1 - row['cached']))} {1 - row['cached']:.1%}")
    return "\n".join(lines)


def cost_table(costs: list[dict[str, Any]]) -> str:
    """The cost of a turn's injection beside that of its retrieval."""
    lines = [f"{'messages':>9}{'inject µs':>11}{'render µs':>11}{'retrieval µs':>14}{'share':>8}"]
    for row in costs:
        both = row["inject"] + row["render"]
        lines.append(
            f"{row['messages']:>9,}{row['inject']:>11,.0f}{row['render']:>11,.0f}{row['retrieval']:>14,.0f}"
            f"{both / row['retrieval']:>8.1%}"
        )
    return "\n".join(lines)


def svg(designs: list[dict[str, Any]]) -> str:
    """Cumulative bytes of memory text written, turn by turn, for the two designs that keep it."""
    width, height, left, bottom = 640, 320, 60, 30
    kept = [row for row in designs if row["design"].startswith("persist")]
    most = max(row["written"] for row in kept)
    turns = len(kept[0]["per_turn"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for share in (0, 0.5, 1):
        y = 20 + (height - bottom - 20) * (1 - share)
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{most * share / 1000:.0f} kB</text>'
        )
    for row, colour in zip(kept, ("#2a7", "#c44"), strict=True):
        points = []
        for turn, total in enumerate(accumulate(row["per_turn"]), 1):
            x = left + (width - left - 10) * turn / turns
            y = 20 + (height - bottom - 20) * (1 - total / most)
            points.append(f"{x:.1f},{y:.1f}")
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(points)}"/>'
        )
        x, y = points[-1].split(",")
        parts.append(
            f'<text x="{float(x) - 8:.0f}" y="{float(y) - 8:.0f}" text-anchor="end">{row["design"]}</text>'
        )
    parts.append(f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">turn</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
