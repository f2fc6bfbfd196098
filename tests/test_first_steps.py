"""README.md and docs/*.md as their reader meets them: what they tell to type is run as it stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import pytest

import pi_rank
from benchmarks.__main__ import commands as benchmark_commands
from pi_rank.cli.program import main
from pi_rank.results import ProcessorTrace

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
PROGRAMS = {"pi-rank", "python", "python3", "pip", "curl", "qmd"}
# README's block is held by tests/memory/test_sample_memory.py, settings by tests/sources/test_docs.py.
NOT_TYPED = {"markdown", "mermaid", "text", "json", "toml"}
PORT = 8001  # the one that docs/recall.md shows, and the default
END = "[the next command]"
# What a reader looks for in the answers of a line that begins like this.
SHOWS = {
    "pi-rank demo": "## Hard Rules",
    "pi-rank context": "# Persistent Intelligence Context",
    "pi-rank search": '"rule_type"',
    "pi-rank status": "minilm-l6-int8",
    "pi-rank doctor": "Everything is in order.",
    "pi-rank models list": "minilm-l6-int8 (default)",
    "qmd search": "qmd://notes/pool.md",
    "qmd vsearch": "qmd://notes/pool.md",
    "curl": '"results"',
    "pi-rank participant": "The worker queue was full.",
}
# What a fragment of Python takes for granted, page by page.
BEFORE = {
    "docs/ranking.md": "from pi_rank import MemoryEngine\nroot = '~/.pi/agent/pi-memory'\n",
}
CONVERSATION = [
    "How do we deploy?",
    "With make release.",
    "And on Fridays?",
    "Before 15:00.",
    "Who is on call?",
]


class Block(NamedTuple):
    """A block of code on a page, from the line with this number on."""

    page: str
    line: int
    kind: str
    text: str


def read_blocks(page: Path) -> list[Block]:
    """The fenced and the indented blocks of a page."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(REPOSITORY).as_posix()
    fenced = r"^```(?P<language>\w*)\n(?P<fenced>[\s\S]*?)^```$"
    indented = r"(?<=\n\n)(?P<indented>(?:    .*\n|\n(?=    ))+)"
    found = []
    for match in re.finditer(f"{fenced}|{indented}", text, re.MULTILINE):
        code = match["fenced"] or re.sub(r"^    ", "", match["indented"], flags=re.MULTILINE)
        kind = kind_of(code) if match["fenced"] is None else match["language"] or "transcript"
        found.append(Block(name, text.count("\n", 0, match.start()) + 1, kind, code))
    return found


def kind_of(code: str) -> str:
    """Shell and Python are typed; what is neither is a formula."""
    first = code.split()[0]
    if first in PROGRAMS or re.match(r"[A-Z_]+=", first):
        return "shell"
    try:
        compile(code, "block", "exec")
    except SyntaxError:
        return "text"
    return "python"


BLOCKS = [block for page in PAGES for block in read_blocks(page)]


def of_kind(kind: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.kind == kind]
    assert chosen, kind
    return pytest.mark.parametrize("block", chosen, ids=[f"{block.page}:{block.line}" for block in chosen])


class Reader(NamedTuple):
    """Somebody with PI's memory, a project and some notes at home, who runs processes there."""

    home: Path
    environment: dict[str, str]

    def run(self, *command: str, code: int = 0) -> str:
        ran = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=240,
        )
        assert ran.returncode == code, f"{ran.stdout}\n{ran.stderr}"
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran.stdout


@pytest.fixture
def home():
    """A folder with a short name: a daemon's socket below it has a path of at most 100 bytes."""
    with TemporaryDirectory(prefix="reader", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def reader(home):
    if os.name == "nt":
        pytest.skip("the pages are written for a POSIX shell")
    shutil.copytree(Path(pi_rank.__file__).parent / "sample", home / ".pi" / "agent" / "pi-memory")
    for folder in ("work/orchard-api", "notes", "bin"):
        (home / folder).mkdir(parents=True)
    (home / "work" / "orchard").mkdir()
    (home / "work" / "orchard" / "CLAUDE.md").write_text("- Deploy with `make release`.\n", encoding="utf-8")
    (home / "notes" / "pool.md").write_text(
        "# Connection pool\n\nConnections time out when the connection pool is exhausted.\n", encoding="utf-8"
    )
    turn = {"latest_user_message": "Can I deploy this Friday?", "profile_id": "project:orchard-api"}
    (home / "turns.jsonl").write_text(f"{json.dumps(turn)}\n" * 2, encoding="utf-8")
    python = shlex.quote(sys.executable)
    for name, line in {
        "pi-rank": f'exec {python} -m pi_rank.cli "$@"',
        "claude": "cat >/dev/null; echo The worker queue was full.",  # another vendor's, with an account
    }.items():
        file = home / "bin" / name
        file.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    # The package that is tested, and the repository for what only tests have.
    packages = os.pathsep.join([str(Path(pi_rank.__file__).parents[1]), str(REPOSITORY)])
    path = os.pathsep.join([str(home / "bin"), os.environ["PATH"]])
    environment = {"HOME": str(home), "PATH": path, "PYTHONPATH": packages, "HF_HUB_OFFLINE": "1"}
    return Reader(home, environment)


@pytest.fixture
def serving(reader):
    """Starts servers as a line says, which are stopped afterwards."""
    started = []

    def start(line: str) -> None:
        for needed in ("starlette", "uvicorn", "h11"):
            pytest.importorskip(needed, reason=f"{needed} is not installed (extra: serve)")
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", PORT))
            except OSError:
                pytest.skip(f"port {PORT} is in use")
        server = subprocess.Popen(
            ["sh", "-c", f"exec {line}"],
            cwd=reader.home,
            env=reader.environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        started.append(server)
        assert server.stdout.readline() == f"http://127.0.0.1:{PORT}\n"

    yield start
    for server in started:
        server.terminate()
        with server:
            server.wait(30)


def is_form(step: str) -> bool:
    """Whether a step is only looked at: what installs is run in CI, the rest takes minutes."""
    return re.search(r"\bpip install\b|-m (venv|pytest|benchmarks)\b", step) is not None


@of_kind("shell")
def test_commands(block, reader, serving):
    lines = block.text.replace("\\\n", "").splitlines()
    steps = [
        re.sub(r"^\.venv/bin/", "", step) for line in lines for step in line.split(" && ") if step.strip()
    ]
    script = []
    for step in steps:
        if is_form(step):
            check_form(step)
        elif step.startswith("curl") and shutil.which("curl") is None:
            pytest.skip("curl is not installed")
        elif step.startswith("pi-rank serve"):
            serving(step)
        else:
            script.append(step)
    try:
        ended = f"printf '{END}'"
        answers = reader.run("sh", "-ec", "\n".join(f"{step}\n{ended}" for step in script)).split(END)
    finally:
        if "qmd daemon start" in block.text:
            reader.run("pi-rank", "qmd", "daemon", "stop")
    for step, answer in zip(script, answers, strict=False):
        for beginning, shown in SHOWS.items():
            assert not step.startswith(beginning) or shown in answer, f"{step}\n{answer}"
    if "answers.jsonl" in block.text:
        written = (reader.home / "answers.jsonl").read_text(encoding="utf-8").splitlines()
        assert ["Friday" in json.loads(line)["markdown"] for line in written] == [True, True]


def check_form(step: str) -> None:
    """What a step that is not run names exists: extras, benchmarks with their options, tests, variables."""
    words = shlex.split(step, comments=True)
    variables = [words.pop(0).partition("=")[0] for word in list(words) if re.match(r"[A-Z_]+=", word)]
    if "pip" in words[0]:
        check_extras(step)
    elif "venv" in words:
        assert words == ["python3", "-m", "venv", ".venv"]
    elif "benchmarks" in words:
        source = REPOSITORY.joinpath(*benchmark_commands()[words[3]].module.split(".")).with_suffix(".py")
        text = source.read_text(encoding="utf-8")
        assert [word for word in words if word.startswith("--") and word not in text] == []
    else:
        assert words[:3] == ["python", "-m", "pytest"]
        for file in (word for word in words if word.endswith(".py")):
            text = (REPOSITORY / file).read_text(encoding="utf-8")
            assert [name for name in variables if name not in text] == []


def check_extras(text: str) -> None:
    """No index knows a clone by name: what is installed is the folder, with extras that there are."""
    project = msgspec.toml.decode((REPOSITORY / "pyproject.toml").read_bytes())["project"]
    (target,) = re.findall(r"pip install (?:-e )?'(.*?)\[", text)
    (extras,) = re.findall(r"\[([a-z,-]+)\]'", text)
    assert target == "."
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


@of_kind("transcript")
def test_transcripts(block, reader):
    # The page's conversation: memory is put in front of the first message of the third request.
    messages = [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for role, text in zip(["user", "assistant"] * 3, CONVERSATION, strict=False)
    ]
    first = f"Memory: deploys go to the canary first.\n{CONVERSATION[0]}"
    changed = {"role": "user", "content": [{"type": "text", "text": first}]}
    requests = [messages[:1], messages[:3], [changed, *messages[1:]]]
    (reader.home / "requests.jsonl").write_text(
        "".join(f"{json.dumps({'messages': request})}\n" for request in requests), encoding="utf-8"
    )
    command, _, printed = block.text.partition("\n")
    assert reader.run("sh", "-c", command, code=1) == printed


@of_kind("python")
def test_python(block, reader):
    if block.page == "docs/injection.md":
        pytest.skip("run by tests/injection/test_docs.py")
    code = BEFORE.get(block.page, "") + block.text
    if "cross_encoder" in code:
        if find_spec("sentence_transformers") is None:
            pytest.skip("sentence-transformers is not installed (extra: sentence-transformers)")
        folder = str(reader.home / "reranker")
        make = f"from tests.turn.test_rerank import make_model\nmake_model({folder!r})\n"
        code = make + code.replace("folder or name", folder)
    reader.run(sys.executable, "-c", code)


def test_every_block_is_run_or_is_nothing_to_type():
    others = [block for block in BLOCKS if block.kind not in {"shell", "python", "transcript"}]
    assert {block.kind for block in others} == NOT_TYPED
    assert [block.text.split()[0] for block in others if block.kind == "text"] == ["score", "evidence(d)"]


SPANS = sorted(
    {span for page in PAGES for span in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))}
)


@pytest.mark.parametrize("span", [span for span in SPANS if re.match(r"(pi-rank|qmd) [a-z]", span)])
def test_commands_in_sentences_exist(span, capsys):
    words = span.removeprefix("pi-rank ").split()
    name = re.match(r"(?:[a-z-]+ ?)+", " ".join(words))[0].split()
    asked = ["qmd"] if name[0] == "qmd" else name
    assert main([*asked, "--help"]) == 0
    text = capsys.readouterr().out
    wanted = re.findall(r"--[a-z-]+", span) + (name if asked == ["qmd"] else [])
    assert set(wanted) <= set(re.findall(r"[\w-]+", text))


@pytest.mark.parametrize("span", [span for span in SPANS if span.startswith("python -m ")])
def test_modules_in_sentences_exist(span):
    module, *words = span.removeprefix("python -m ").split()
    if module == "benchmarks":
        check_form(span.replace("[", "").replace("]", ""))
    else:
        assert find_spec(module) is not None, words


def test_what_sentences_tell_to_install_can_be_installed_from_a_clone():
    told = [span for span in SPANS if "pip install '" in span]
    assert told
    for span in told:
        check_extras(span)


def test_the_fields_of_a_trace_are_in_the_docs():
    trace = ProcessorTrace(
        "p", 2, 1, lambda: {"mem_a": "status:deleted"}, lambda: {"mem_b": "pi_project:default"}
    )
    page = (REPOSITORY / "docs" / "memory.md").read_text(encoding="utf-8")
    rows = "\n".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))
    assert [name for name in trace.to_dict() if f"`{name}`" not in rows] == []
