"""How long does fusing two ranked lists of 100 take, next to ranx and to plain dictionaries?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.speed.common import DEPTH, SEED, SIZES
from pi_rank.ranking.fusion import LEXICAL_WEIGHT, RRF_K, SEMANTIC_WEIGHT, weighted_rrf
from tests.reference import fusion

if TYPE_CHECKING:
    from collections.abc import Callable

WEIGHTS = (LEXICAL_WEIGHT, SEMANTIC_WEIGHT)
N_ROWS = SIZES[1]
TIE_RANK = np.arange(N_ROWS, dtype=np.int32)
PAIRS = 50
OVERLAP = 5  # lists are drawn from so many times their length: about a fifth of the rows are in both


def list_pairs() -> list[list[np.ndarray[Any, np.dtype[np.int32]]]]:
    """PAIRS times two ranked lists of DEPTH different rows."""
    rng = np.random.default_rng(SEED)
    return [
        [rng.permutation(OVERLAP * DEPTH)[:DEPTH].astype(np.int32) for _ in WEIGHTS] for _ in range(PAIRS)
    ]


def pi_rank() -> tuple[Callable[[Any], Any], list[Any]]:
    """The compiled fusion and its arguments."""
    return lambda lists: weighted_rrf(lists, WEIGHTS, limit=2 * DEPTH, tie_rank=TIE_RANK), list_pairs()


def reference() -> tuple[Callable[[Any], Any], list[Any]]:
    """Dictionaries, given lists of Python integers."""
    pairs = [[rows.tolist() for rows in lists] for lists in list_pairs()]
    ties = TIE_RANK.tolist()
    return lambda lists: fusion.weighted_rrf(lists, WEIGHTS, RRF_K, 2 * DEPTH, ties), pairs


def ranx() -> tuple[Callable[[Any], Any], list[Any]]:
    """ranx's RRF, which has no weights, given runs that are made already."""
    library = pytest.importorskip("ranx", reason="ranx is not installed: pip install 'pi-rank[bench]'")
    pairs = [[library.Run({"q": _scores(rows)}) for rows in lists] for lists in list_pairs()]
    return lambda runs: library.fuse(runs, norm=None, method="rrf"), pairs


def _scores(rows: np.ndarray[Any, np.dtype[np.int32]]) -> dict[str, float]:
    return {str(row): 1.0 / rank for rank, row in enumerate(rows.tolist(), 1)}


@pytest.mark.parametrize("library", [pi_rank, reference, ranx], ids=lambda library: library.__name__)
def bench_fuse(over, library):
    over(*library(), question="fusion", library=library.__name__)
