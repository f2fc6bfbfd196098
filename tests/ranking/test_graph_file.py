"""The graph's file: what is loaded is what was saved, and nothing else ever reaches hnswlib."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pi_rank.ranking import graph_file
from pi_rank.ranking.graph_file import GraphFileError, GraphKey, load_graph, save_graph
from pi_rank.ranking.hnsw import build_graph
from pi_rank.ranking.semantic import VectorIndex
from tests.reference import vectors as reference

N, D = 300, 16
VECTORS = reference.unit_vectors(31, N, D)
KEY = GraphKey(model_id="model-a", dimension=D, count=N, content="c0ffee")


@pytest.fixture(scope="module")
def graph():
    return build_graph(VectorIndex.build(VECTORS, np.arange(N, dtype=np.int32))).graph


@pytest.fixture
def path(tmp_path, graph):
    save_graph(graph, tmp_path / "graph", KEY)
    return tmp_path / "graph"


def test_a_loaded_graph_searches_as_the_saved_one(path, graph):
    loaded = load_graph(path, KEY)
    assert (loaded.count, loaded.dimension, loaded.m) == (N, D, 16)
    for vector in VECTORS:
        assert loaded.nearest(vector, 20).tolist() == graph.nearest(vector, 20).tolist()
    assert [entry.name for entry in path.parent.iterdir()] == ["graph"]


def test_ef_and_threads_are_set_again_after_loading(path):
    index = load_graph(path, KEY)._index
    assert (index.ef, index.num_threads) == (100, 1)


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
    with pytest.raises(GraphFileError, match="wanted one of"):
        load_graph(path, key)


def test_every_damaged_byte_is_noticed(path):
    """Bit flips anywhere: most of them would crash hnswlib, and with it this process."""
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    places = {*range(120), *random.integers(0, len(whole), 400).tolist(), len(whole) - 1}
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(GraphFileError):
            load_graph(path, KEY)


@pytest.mark.parametrize("keep", [0, 3, 17, 20, 200, 0.5, -1])
def test_a_file_cut_short_is_noticed(path, keep):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(GraphFileError, match=r"cut short|not a graph file|damaged"):
        load_graph(path, KEY)


def test_bytes_behind_the_end_are_noticed(path):
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(GraphFileError, match="longer than its header says"):
        load_graph(path, KEY)


def test_a_missing_file_and_a_missing_folder_are_said(tmp_path, graph):
    with pytest.raises(GraphFileError, match="No such file"):
        load_graph(tmp_path / "none", KEY)
    with pytest.raises(GraphFileError, match="No such file"):
        save_graph(graph, tmp_path / "folder" / "graph", KEY)


@pytest.mark.parametrize(("constant", "value"), [("FORMAT", 2), ("SPACE", "l2")])
def test_other_formats_and_spaces_are_refused(path, monkeypatch, constant, value):
    monkeypatch.setattr(graph_file, constant, value)
    with pytest.raises(GraphFileError, match="read here"):
        load_graph(path, KEY)


def test_a_payload_of_another_hnswlib_is_refused(path, monkeypatch):
    monkeypatch.setattr(graph_file, "version", lambda name: "9.9")
    with pytest.raises(GraphFileError, match=r"hnswlib 9\.9"):
        load_graph(path, KEY)


def test_a_payload_that_hnswlib_did_not_write_whole_replaces_nothing(path, graph, monkeypatch):
    """What a full disk does: save_index returns, and the file is short."""
    before = path.read_bytes()
    save_payload = type(graph).save_payload

    def short(self, target):
        size = save_payload(self, target)
        os.truncate(target, size // 2)
        return size

    monkeypatch.setattr(type(graph), "save_payload", short)
    with pytest.raises(GraphFileError, match="is the disk full"):
        save_graph(graph, path, KEY)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["graph"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_hnswlib_itself_reports_no_full_disk(graph):
    """The reason for the check above: the day this fails, hnswlib has learnt to raise."""
    assert graph.save_payload("/dev/full") > 0


def test_a_key_that_does_not_fit_the_graph_is_refused(tmp_path, graph):
    with pytest.raises(GraphFileError, match="its key says 299"):
        save_graph(graph, tmp_path / "graph", msgspec.structs.replace(KEY, count=299))


def test_what_a_killed_process_left_is_removed_when_it_is_old(path, graph):
    old, new = path.parent / ".pi-rank-graph-old", path.parent / ".pi-rank-graph-new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "payload").write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    save_graph(graph, path, KEY)
    assert not old.exists()
    assert new.exists()


def test_a_process_killed_while_saving_leaves_the_old_graph_or_the_new(tmp_path, graph):
    path = tmp_path / "graph"
    save_graph(graph, path, KEY)
    program = (
        "import sys; from pathlib import Path\n"
        "from pi_rank.ranking.graph_file import GraphKey, load_graph, save_graph\n"
        f"key = GraphKey('model-a', {D}, {N}, 'c0ffee'); path = Path(sys.argv[1])\n"
        "graph = load_graph(path, key); print('ready', flush=True)\n"
        "while True: save_graph(graph, path, key)\n"
    )
    for delay in np.linspace(0.0, 0.05, 6):
        writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(float(delay))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        assert load_graph(path, KEY).count == N
