"""Options and fixtures of the benchmarks: `python -m pytest benchmarks`, `--full` for 100,000 records."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.speed.common import SIZES, Memories
from benchmarks.speed.timings import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

QUICK_SIZE = SIZES[1]
# Seconds that one benchmark may take once everything is built.
BUDGET, QUICK_BUDGET = 0.6, 0.15
MIN_PASSES, MAX_PASSES = 3, 10
SLOW = 1.0  # seconds: a pass that takes longer is made once
RESULTS = pytest.StashKey[list[dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full` and `--results`."""
    parser.addoption("--full", action="store_true", help=f"measure more than {QUICK_SIZE:,} records as well")
    parser.addoption("--results", type=Path, help="write what was measured to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Makes room for the results."""
    config.stash[RESULTS] = []


def pytest_unconfigure(config: pytest.Config) -> None:
    """Writes the results, where they are asked for."""
    if path := config.getoption("--results", None):
        path.write_text(json.dumps(config.stash[RESULTS], indent=1) + "\n", encoding="utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the large sizes out unless they are asked for."""
    if config.getoption("--full"):
        return
    config.hook.pytest_deselected(items=[item for item in items if _size(item) > QUICK_SIZE])
    items[:] = [item for item in items if _size(item) <= QUICK_SIZE]


def _size(item: pytest.Item) -> int:
    spec = getattr(item, "callspec", None)
    return int(spec.params.get("size", 0)) if spec else 0


@pytest.fixture(scope="session")
def memories() -> Iterator[Memories]:
    """Engines by size, shared by all benchmarks."""
    with Memories() as opened:
        yield opened


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keeps what a benchmark measured for the report: its question, its measures by name, its facts."""
    spec = getattr(request.node, "callspec", None)
    plain = (
        {name: value for name, value in spec.params.items() if isinstance(value, (int, float))}
        if spec
        else {}
    )

    def keep(question: str, measures: dict[str, Any], **facts: object) -> None:
        request.config.stash[RESULTS].append({"question": question, **plain, **facts, **measures})

    return keep


@pytest.fixture
def over(benchmark: Any, request: pytest.FixtureRequest, record: Callable[..., None]) -> Callable[..., None]:
    """Measures a call with each of several arguments, one round each, in passes over all of them."""
    budget = BUDGET if request.config.getoption("--full") else QUICK_BUDGET

    def measure(
        call: Callable[[Any], object], arguments: Sequence[Any], *, question: str, **facts: object
    ) -> None:
        start = time.perf_counter()
        for argument in arguments:  # also warms what the call caches
            call(argument)
        one = time.perf_counter() - start
        passes = 1 if one > SLOW else min(max(int(budget / one), MIN_PASSES), MAX_PASSES)
        turn = itertools.cycle(arguments)
        benchmark.pedantic(call, setup=lambda: ((next(turn),), {}), rounds=passes * len(arguments))
        if benchmark.stats is not None:  # none with --benchmark-disable
            record(question, summary(benchmark.stats.stats.data, len(arguments)), **facts)

    return measure
