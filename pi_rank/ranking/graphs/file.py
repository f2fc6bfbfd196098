"""The file of an HNSW graph: its links, under a key that says which vectors they are of, and since when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from pi_rank.ranking.array_file import CacheMismatch, read_arrays, write_arrays
from pi_rank.ranking.graphs.graph import Graph, Links

_MARK = "mark"
_KIND = "graph 3"  # goes up when what the arrays mean changes


class GraphKey(msgspec.Struct, frozen=True):
    """What a graph is of. `content` stands for the vectors in their order: a hash of their texts' hashes."""

    model_id: str
    dimension: int
    count: int
    content: str


def save_graph(graph: Graph, path: Path, key: GraphKey, mark: bytes) -> None:
    """Writes `graph` to `path`; whoever reads sees the old file or the new one, whole.

    :param mark: of the store's state that the vectors were read in.
    :raises OSError: it cannot be written; an old file is untouched.
    """
    arrays = {name: array.ravel() for name, array in graph.links._asdict().items()}
    write_arrays(path, _KIND, _text(key), arrays | {_MARK: np.frombuffer(mark, np.uint8)})


def load_graph(path: Path, key: GraphKey, is_past: Callable[[bytes], bool]) -> Graph:
    """The graph saved at `path` for `key`, in memory of its own: the file may be replaced.

    :param is_past: whether the store was in the state of that mark.
    :raises CacheMismatch: no file, another format or key, a damaged file, or one of another past.
    """
    arrays = {name: array.copy() for name, array in read_arrays(path, _KIND, _text(key)).items()}
    if not is_past(arrays[_MARK].tobytes()):
        raise CacheMismatch(f"{path} is of a time that the store does not know")
    width = len(arrays["ground"]) // key.count
    try:
        ground, upper = arrays["ground"].reshape(key.count, width), arrays["upper"].reshape(-1, width // 2)
        return Graph(Links(ground, upper, arrays["upper_begin"], arrays["top"]))
    except ValueError as error:
        raise CacheMismatch(f"{path} holds no graph of {key}: {error}") from error


def _text(key: GraphKey) -> str:
    return msgspec.json.encode(key).decode()
