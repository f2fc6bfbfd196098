"""Options and fixtures of the benchmarks: `python -m pytest benchmarks`, with `--full` up to 100,000 records."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks.common import SIZES, Memories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

QUICK_SIZE = SIZES[1]
# Seconds that one benchmark may take once everything is built; at least MIN_REPEATS passes are made all the same.
BUDGET, QUICK_BUDGET = 0.6, 0.15
MIN_REPEATS, MAX_REPEATS = 3, 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full`."""
    parser.addoption("--full", action="store_true", help=f"measure more than {QUICK_SIZE:,} records as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the large sizes out unless they are asked for."""
    if config.getoption("--full"):
        return
    small = [item for item in items if _size(item) <= QUICK_SIZE]
    config.hook.pytest_deselected(items=[item for item in items if _size(item) > QUICK_SIZE])
    items[:] = small


def _size(item: pytest.Item) -> int:
    spec = getattr(item, "callspec", None)
    return int(spec.params.get("size", 0)) if spec else 0


@pytest.fixture(scope="session")
def memories() -> Iterator[Memories]:
    """Engines by size, shared by all benchmarks."""
    with Memories() as opened:
        yield opened


@pytest.fixture
def over(benchmark: Any, request: pytest.FixtureRequest) -> Callable[..., None]:  # noqa: ANN401
    """Measures a call with each of several arguments, one round each, in passes over all of them.

    `facts` (library, words, …) go with the result, so that the report can put results side by side.
    """
    budget = BUDGET if request.config.getoption("--full") else QUICK_BUDGET

    def measure(call: Callable[[Any], object], arguments: Sequence[Any], **facts: object) -> None:
        start = time.perf_counter()
        for argument in arguments:  # also warms what the call caches
            call(argument)
        repeats = int(budget / (time.perf_counter() - start))
        repeats = min(max(repeats, MIN_REPEATS), MAX_REPEATS)
        turn = itertools.cycle(arguments)
        benchmark.extra_info.update(facts, arguments=len(arguments))
        benchmark.pedantic(call, setup=lambda: ((next(turn),), {}), rounds=repeats * len(arguments))

    return measure
