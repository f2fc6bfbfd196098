"""The file of an HNSW graph: its links, under a key that says which vectors they are of."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pi_rank.ranking.array_file import CacheMismatch, read_arrays, write_arrays
from pi_rank.ranking.graph import Graph, Links

_KIND = "graph 2"  # goes up when what the arrays mean changes


class GraphKey(msgspec.Struct, frozen=True):
    """What a graph is of. `content` stands for the vectors in their order: a hash of their texts' hashes."""

    model_id: str
    dimension: int
    count: int
    content: str


def save_graph(graph: Graph, path: Path, key: GraphKey) -> None:
    """Writes `graph` to `path`; whoever reads sees the old file or the new one, whole.

    :raises OSError: it cannot be written; an old file is untouched.
    """
    arrays = {name: array.ravel() for name, array in graph.links._asdict().items()}
    write_arrays(path, _KIND, _text(key), arrays)


def load_graph(path: Path, key: GraphKey) -> Graph:
    """The graph saved at `path` for `key`, in memory of its own: the file may be replaced.

    :raises CacheMismatch: no file, another format or key, or a damaged file.
    """
    arrays = {name: array.copy() for name, array in read_arrays(path, _KIND, _text(key)).items()}
    width = len(arrays["ground"]) // key.count
    try:
        ground, upper = arrays["ground"].reshape(key.count, width), arrays["upper"].reshape(-1, width // 2)
        return Graph(Links(ground, upper, arrays["upper_begin"], arrays["top"]))
    except ValueError as error:
        raise CacheMismatch(f"{path} holds no graph of {key}: {error}") from error


def _text(key: GraphKey) -> str:
    return msgspec.json.encode(key).decode()
