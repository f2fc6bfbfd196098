"""The page's example runs as it stands, and the page names what exists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pi_rank
from pi_rank import MemoryEngine
from pi_rank.injection import adapters

PAGE = Path(__file__).parents[2] / "docs" / "injection.md"


@pytest.mark.skipif(
    not hasattr(MemoryEngine, "record_statuses"), reason="MemoryEngine.record_statuses is not there"
)
def test_the_examples_run_in_their_order_as_they_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pi_rank.engine.default_store_path", lambda root, *_: tmp_path / "store.sqlite3")
    shutil.copytree(Path(pi_rank.__file__).parent / "sample", tmp_path / "root")
    names = {"root": tmp_path / "root"}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    names["engine"].close()
    said = "True The tool 'delete' is not available. Available tools: deploy, read.\n"
    assert capsys.readouterr().out == f"written\n{said}"
    assert "Persistent Intelligence Context" in str(names["request"])
    assert [message["content"] for message in names["shown"]] == ["How do we deploy to production?"]


def test_every_adapter_of_the_page_exists():
    folder = Path(adapters.__file__).parent
    named = {"strands", "langchain", "openai-agents", "pydantic-ai", "anthropic", "openai"}
    assert set(re.findall(r"`'\.\[([a-z-]+)\]'`", PAGE.read_text(encoding="utf-8"))) == named
    assert {name.replace("-", "_") for name in named} <= {path.stem for path in folder.glob("*.py")}


@pytest.mark.parametrize(
    ("module", "package", "message"),
    [
        ("strands", "strands", "strands-agents is not installed: pip install 'pi-rank[strands]'"),
        ("langchain", "langchain", "langchain is not installed: pip install 'pi-rank[langchain]'"),
        ("openai_agents", "agents", "openai-agents is not installed: pip install 'pi-rank[openai-agents]'"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai is not installed: pip install 'pi-rank[pydantic-ai]'"),
    ],
)
def test_an_adapter_without_its_framework_says_what_to_install(module, package, message):
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {package!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import pi_rank.injection.adapters.{module}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"ImportError: {message}")


def test_every_file_of_the_page_exists():
    for name in re.findall(r"`(pi_rank/[^`]+)`", PAGE.read_text(encoding="utf-8")):
        assert (Path(pi_rank.__file__).parents[1] / name).exists(), name
