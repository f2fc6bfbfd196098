"""What loading and running the default model may touch: no torch stack, no network."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pi_rank.embedding import load_embedder
from pi_rank.errors import ModelError

NO_SOCKETS = """
import socket
def refuse(*arguments, **names):
    raise AssertionError("a socket was opened")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""
EMBED = """
from pi_rank.embedding import load_embedder
embedder = load_embedder("default")
assert embedder.embed_query("tabs").shape == (384,)
assert embedder.embed_documents(["tabs", "spaces"]).shape == (2, 384)
"""


def run(code, tmp_path):
    """Runs `code` in a new process, in a folder without anything, importing from where this process does."""
    script = f"import sys\nsys.path[:0] = {sys.path!r}\n{code}"
    return subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )


def test_embedding_imports_no_runtime(tmp_path):
    check = "print(sorted({'torch', 'transformers', 'onnx', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    result = run(EMBED + check, tmp_path)
    assert (result.stdout.strip(), result.stderr) == ("[]", "")


def test_importing_the_package_imports_no_runtime(tmp_path):
    check = "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)))"
    result = run("import pi_rank.embedding\n" + check, tmp_path)
    assert (result.stdout.strip(), result.stderr) == ("[]", "")


def test_embedding_opens_no_socket(tmp_path):
    result = run(NO_SOCKETS + EMBED + "print('done')", tmp_path)
    assert (result.stdout.strip(), result.stderr) == ("done", "")


def test_the_socket_check_itself_notices(tmp_path):
    result = run(NO_SOCKETS + "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9')", tmp_path)
    assert "a socket was opened" in result.stderr


def test_a_model_that_is_not_shipped_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError) as refusal:
        load_embedder("nobody/no-model")
    assert str(refusal.value) == (
        "'nobody/no-model' is none of the models that ship with pi-rank "
        "(e5-small, minilm-l6-int8, static-256), "
        "and to run it with sentence-transformers needs: pip install 'pi-rank[sentence-transformers]'"
    )
