"""What of a snapshot may be kept in a file: the live rows and what they need, nothing of what went."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.snapshot.columns import ANY_PROJECT, NO_PROFILE, NO_READER, Columns
from pi_rank.snapshot.vectors import NO_VECTOR

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from pi_rank.snapshot.columns import Codebook
    from pi_rank.snapshot.snapshot import Snapshot

    Ints = npt.NDArray[np.int32]

# A graph names vectors by their places. While no more than this share of them is gone, those keep their place
# with nothing in it, so that the graph of 100,000 vectors is not built again for one record that went.
MAX_EMPTY_SHARE = 0.25


class LivePart(NamedTuple):
    """A snapshot's live rows, numbered anew from 0; fields as in `Snapshot`.

    `rows`: int32, their old numbers. `vectors`: float32[nodes, dimension]; None where there are none.
    """

    rows: Ints
    columns: Columns
    order: Ints
    profiles: list[str]
    projects: list[str]
    texts: list[bytes]
    readers: list[str]
    text_node: Ints
    node_text: Ints
    vectors: npt.NDArray[np.float32] | None


def live_part(snapshot: Snapshot) -> LivePart:
    """The rows that are alive, with the names, texts and vectors of these alone."""
    rows = np.flatnonzero(snapshot.live).astype(np.int32)
    columns = snapshot.columns.of(rows)
    profiles, profile = _named(snapshot.books.profiles, columns.profile, NO_PROFILE + 1)
    projects, project = _named(snapshot.books.projects, columns.project, ANY_PROJECT + 1)
    readers, reader = _named(snapshot.books.readers, columns.readers, NO_READER + 1)
    nodes, is_empty = _nodes(snapshot, columns.text)
    texts, codes = _named(snapshot.books.texts, np.concatenate([columns.text, snapshot.node_text[nodes]]), 0)
    text, node_text = codes[: len(rows)], codes[len(rows) :]
    text_node = np.full(len(texts), NO_VECTOR, np.int32)
    text_node[node_text[~is_empty]] = np.flatnonzero(~is_empty)
    return LivePart(
        rows,
        columns._replace(profile=profile, project=project, text=text, readers=reader),
        _places(rows, len(snapshot.ids))[snapshot.order],
        profiles,
        projects,
        texts,
        readers,
        text_node,
        node_text,
        _vectors(snapshot, nodes, is_empty),
    )


def _places(kept: Ints, size: int) -> Ints:
    """Old number → new number, int32[size]."""
    places = np.zeros(size, np.int32)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    return places


def _named(book: Codebook, codes: Ints, first: int) -> tuple[list[Any], Ints]:
    """The names that codes from `first` on stand for, in their order, and the codes numbered anew.

    Codes below `first` stand for no name and stay.
    """
    used = np.unique(codes[codes >= first])
    names = book.names()
    fresh = codes.copy()
    fresh[codes >= first] = first + np.searchsorted(used, codes[codes >= first])
    return [names[code - first] for code in used.tolist()], fresh


def _nodes(snapshot: Snapshot, text: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The vectors to keep, ascending, and which of these are places only: int32[n], bool[n]."""
    count = len(snapshot.node_text)
    known = text[text < len(snapshot.text_node)]
    needed = np.zeros(count, np.bool_)
    named = snapshot.text_node[known]
    needed[named[named != NO_VECTOR]] = True
    if needed.all() or (_has_graph(snapshot) and count - np.count_nonzero(needed) <= MAX_EMPTY_SHARE * count):
        return np.arange(count, dtype=np.int32), ~needed
    nodes = np.flatnonzero(needed).astype(np.int32)
    return nodes, np.zeros(len(nodes), np.bool_)


def _has_graph(snapshot: Snapshot) -> bool:
    vectors = snapshot.vectors
    return vectors is not None and (vectors.graph is not None or vectors.wants_graph)


def _vectors(
    snapshot: Snapshot, nodes: Ints, is_empty: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32] | None:
    if snapshot.vectors is None:
        return None
    matrix = snapshot.vectors.vectors(0, snapshot.vectors.count)
    if len(nodes) < len(matrix):
        matrix = matrix[nodes]
    matrix[is_empty] = 0
    matrix[is_empty, :1] = 1  # of unit length, as all
    return matrix
