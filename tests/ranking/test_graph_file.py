"""The graph's file: what is loaded is what was saved, of the vectors that were asked for."""

from __future__ import annotations

import subprocess
import sys
import time

import msgspec
import numpy as np
import pytest

from pi_rank.ranking.array_file import CacheMismatch, write_arrays
from pi_rank.ranking.graphs import file as graph_file
from pi_rank.ranking.graphs.file import GraphKey, load_graph, save_graph
from pi_rank.ranking.semantic import VectorIndex
from tests.reference.vectors import unit_vectors
from tests.support.graphs import graph_of

N, D = 300, 16
VECTORS = unit_vectors(31, N, D)
KEY = GraphKey(model_id="model-a", dimension=D, count=N, content="c0ffee")
MARK = bytes(range(16))


def known(mark):
    return mark == MARK


@pytest.fixture(scope="module")
def graph():
    return graph_of(VectorIndex.build(VECTORS, np.arange(N, dtype=np.int32)))


@pytest.fixture
def path(tmp_path, graph):
    save_graph(graph, tmp_path / "graph", KEY, MARK)
    return tmp_path / "graph"


def test_a_loaded_graph_is_the_saved_one(path, graph):
    loaded = load_graph(path, KEY, known)
    assert (loaded.count, loaded.m) == (N, 16)
    for one, other in zip(loaded.links, graph.links, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [entry.name for entry in path.parent.iterdir()] == ["graph"]


def test_a_loaded_graph_does_not_hold_its_file(path):
    loaded = load_graph(path, KEY, known)
    assert all(array.flags.owndata or array.base.flags.owndata for array in loaded.links)
    path.write_bytes(b"")
    assert loaded.links.ground.max() < N


@pytest.mark.parametrize("count", [1, 2])
def test_graphs_without_upper_levels(tmp_path, count):
    graph = graph_of(VectorIndex.build(VECTORS[:count], np.arange(count, dtype=np.int32)))
    key = msgspec.structs.replace(KEY, count=count)
    save_graph(graph, tmp_path / "graph", key, MARK)
    assert load_graph(tmp_path / "graph", key, known).count == count


@pytest.mark.parametrize(
    "key",
    [
        msgspec.structs.replace(KEY, model_id="model-b"),
        msgspec.structs.replace(KEY, dimension=D * 2),
        msgspec.structs.replace(KEY, count=N + 1),
        msgspec.structs.replace(KEY, content="other"),
    ],
)
def test_a_graph_of_other_vectors_is_refused(path, key):
    with pytest.raises(CacheMismatch, match="model-a"):
        load_graph(path, key, known)


def test_a_graph_of_a_past_that_the_store_does_not_know_is_refused(path):
    with pytest.raises(CacheMismatch, match="of a time that the store does not know"):
        load_graph(path, KEY, lambda mark: mark != MARK)


def test_every_damaged_byte_is_noticed(path):
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    places = {*range(120), *random.integers(0, len(whole), 400).tolist(), len(whole) - 1}
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(CacheMismatch):
            load_graph(path, KEY, known)


@pytest.mark.parametrize("keep", [0, 3, 17, 200, 0.5, -1])
def test_a_file_cut_short_is_noticed(path, keep):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(CacheMismatch):
        load_graph(path, KEY, known)


def test_links_that_lead_nowhere_are_noticed_even_where_the_checksum_is_right(path, graph):
    arrays = {name: array.ravel().copy() for name, array in graph.links._asdict().items()}
    arrays["ground"][7] = N
    arrays["mark"] = np.frombuffer(MARK, np.uint8)
    write_arrays(path, graph_file._KIND, graph_file._text(KEY), arrays)
    with pytest.raises(CacheMismatch, match="does not exist"):
        load_graph(path, KEY, known)


def test_another_format_is_refused(path, monkeypatch):
    monkeypatch.setattr(graph_file, "_KIND", "graph 9")
    with pytest.raises(CacheMismatch, match="graph 9"):
        load_graph(path, KEY, known)


def test_a_missing_file_and_a_missing_folder_are_said(tmp_path, graph):
    with pytest.raises(CacheMismatch, match="No such file"):
        load_graph(tmp_path / "none", KEY, known)
    with pytest.raises(FileNotFoundError):
        save_graph(graph, tmp_path / "folder" / "graph", KEY, MARK)


def test_a_process_killed_while_saving_leaves_the_old_graph_or_the_new(tmp_path, graph):
    path = tmp_path / "graph"
    save_graph(graph, path, KEY, MARK)
    program = (
        "import sys; from pathlib import Path\n"
        "from pi_rank.ranking.graphs.file import GraphKey, load_graph, save_graph\n"
        f"key = GraphKey('model-a', {D}, {N}, 'c0ffee'); path = Path(sys.argv[1])\n"
        "graph = load_graph(path, key, bool); print('ready', flush=True)\n"
        "while True: save_graph(graph, path, key, bytes(16))\n"
    )
    for delay in np.linspace(0.0, 0.05, 6):
        writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(float(delay))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        assert load_graph(path, KEY, bool).count == N
