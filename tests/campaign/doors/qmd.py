"""The qmd command: arguments, patterns, documents and folders, and a damaged configuration or index."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from pathlib import Path

from tests.campaign.corpus import as_bytes
from tests.campaign.door import Door
from tests.campaign.values import EVIL, damage, text, words
from tests.qmd.conftest import World
from tests.support.memory import write_root

SECRET = "zqcanary"  # a word that stands only where no search may look
NUMBERS = ["-1", "0", "3", "999999999999", "1e3", "x", "nan", "inf", "9" * 5_000, ""]
PATTERNS = [
    *(
        "*.md",
        "**/*.md",
        "[z-a]*",
        "[",
        "[]",
        "[!]",
        "{",
        "{a,{b,c}}",
        "*" * 200,
        "\\",
        "(?P<x>a",
        "?" * 5_000,
    ),
    *(
        "**/" * 14 + "zz*q",
        "*a" * 25 + "b",
        "{" + "a," * 2_000 + "}",
        "../*",
        "/etc/*",
        "#000000",
        "a,b,,",
        "",
    ),
]
FILES = [
    *(
        "n/alpha.md",
        "alpha.md:3:2",
        "qmd://n/../../etc/passwd",
        "/etc/passwd",
        "../outside.md",
        "n/link.md",
        "#b34e8f",
    ),
    *(
        "qmd://n/%2e%2e/outside.md",
        ".env",
        "alpha.md:" + "9" * 5_000,
        "alpha.md:1:" + "9" * 5_000,
        "alpha.md:-1",
        "x",
    ),
    *("\udcff\udcfe", "memory/mem_1.md", "qmd://m/memory/mem_gone.md", "n", "", ":", "#", "qmd://"),
]
QUERIES = [
    '"',
    '" "',
    "-",
    "--",
    '-"x"',
    "a" * 100_000,
    '"' + "a " * 5_000 + '"',
    "NEAR(a b)",
    "a* OR b",
    "(((",
]
QUERIES += [
    "lex: a\nvec: b\nhyde: c\n" * 200,
    "title:x",
    "^x",
    "x\ty",
    "\u200b",
    "😀",
    "部署",
    "a AND",
    "deploy",
]
OPTIONS = [
    "--json",
    "--csv",
    "--md",
    "--xml",
    "--files",
    "--full",
    "--all",
    "--explain",
    "--line-numbers",
    "--full-path",
]


class Qmd(Door):
    """A world of documents and memory, a few files more, perhaps some damage, and commands."""

    deadline = 30.0

    def __init__(self, folder):
        super().__init__(folder)
        self._place = tempfile.TemporaryDirectory(dir=folder)
        self._sound = Path(self._place.name, "home")
        self._sound.mkdir()
        world = World(self._sound)
        world.documents()
        notes = self._sound / "docs"
        (self._sound / "outside.md").write_text(f"# Outside\n\n{SECRET} text")
        (notes / ".env").write_text(f"{SECRET}=1")
        (notes / "node_modules").mkdir()
        (notes / "node_modules/x.md").write_text(f"# {SECRET}")
        for name, target in {
            "link.md": "../outside.md",
            "env.md": ".env",
            "loop.md": "loop.md",
            "up": "..",
        }.items():
            (notes / name).symlink_to(target)
        write_root(self._sound / "root", _records(), tombstones=["mem_gone"])

    def close(self):
        self._place.cleanup()

    def make(self, chance):
        case = {"files": {}, "commands": [_command(chance) for _ in range(chance.randint(1, 6))]}
        for _ in range(chance.randrange(4)):
            name = "/".join(text(chance)[:30].replace("\x00", "") or "x" for _ in range(chance.randint(1, 3)))
            case["files"][name + chance.choice([".md", ".md", ""])] = text(chance)
        if chance.random() < 0.3:
            case["damage"] = {
                "file": chance.choice(["config", "index", "index-wal"]),
                "seed": chance.randrange(2**31),
            }
        return case

    def run(self, case, trial):
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            world = World(Path(place, "home"))
            shutil.copytree(self._sound, world.home, symlinks=True)
            files = case.get("files", {})
            for name, content in files.items() if isinstance(files, dict) else ():
                _write(world.home / "docs", name, content)
            self._do(world, ["collection", "add", str(world.home / "docs"), "--name", "n"], trial)
            self._do(world, ["collection", "add", str(world.home / "root"), "--name", "m"], trial)
            if isinstance(case.get("damage"), dict):
                _spoil(world, case["damage"])
            for argv in case.get("commands", []):
                if isinstance(argv, list) and all(isinstance(word, str) for word in argv):
                    self._do(world, argv, trial)
            for query in (SECRET, "deploy"):
                self._do(world, ["search", query, "--json"], trial)

    def _do(self, world, argv, trial):
        trial.inputs += 1
        with trial.expecting("qmd " + " ".join(argv[:2])[:40] if argv[:1] != ["search"] else "qmd search"):
            ran = world.qmd(*argv)
            trial.check(ran.code in (0, 1), f"exit code {ran.code}", str(argv)[:300])
            trial.check(ran.code == 0 or ran.err.strip(), "it fails and does not say why", str(argv)[:300])
            said = ran.out.replace(" ".join(argv), "")
            trial.check(
                f"{SECRET} text" not in said and f"{SECRET}=1" not in said, "what lies outside is shown", argv
            )
            trial.check("canary of a deleted" not in said, "a deleted record is shown", str(argv)[:300])
            if ran.code == 0 and _is_json(argv):
                try:
                    json.loads(ran.out)
                except ValueError:
                    trial.say("--json gives no JSON", f"{argv!r:.300}: {ran.out[:300]!r}")
            for stream in (ran.out, ran.err):
                stream.encode("utf-8", "backslashreplace")


def _is_json(argv):
    """Whether JSON is asked for, and nothing besides."""
    formats = [word for word in argv if word in ("--json", "--csv", "--md", "--xml", "--files", "--format")]
    return formats == ["--json"] and "--" not in argv and argv[0] in ("search", "multi-get")


def _records():
    for number in range(10):
        yield {"id": f"mem_{number}", "statement": f"deploy the orchard on friday {number}"}
    yield {"id": "mem_gone", "statement": "canary of a deleted record, deploy"}


def _command(chance):
    options = chance.sample(OPTIONS, chance.choice([0, 1, 1, 2]))
    if chance.random() < 0.3:
        options += chance.choice(
            [["-n"], ["--min-score"], ["-l"], ["--max-bytes"], ["-c"], ["--index"], ["--mask"]]
        )
        options.append(chance.choice([*NUMBERS, text(chance)[:100]]))
    query = chance.choice([*QUERIES, text(chance), words(chance)])
    made = chance.choice(
        [
            ["search", query],
            ["search", query, "-c", chance.choice(["n", "m", "nope"])],
            ["get", chance.choice([*FILES, text(chance)])],
            ["multi-get", chance.choice([*PATTERNS, text(chance)])],
            ["ls", chance.choice(["", "n", "m", "n/..", "qmd://n/sub", text(chance)])],
            ["status"],
            ["update"],
            ["update", "-c", chance.choice(["n", "m", text(chance)])],
            ["cleanup"],
            [
                "collection",
                chance.choice(["list", "show", "remove", "exclude", "include", "rename", "x"]),
                "n",
                "z",
            ],
            [
                "collection",
                "add",
                chance.choice(["docs", "root", "missing", "/dev/null"]),
                "--name",
                text(chance)[:60],
            ],
            ["collection", "add", "docs", "--name", "k", "--mask", chance.choice(PATTERNS)],
            ["context", "add", chance.choice(["qmd://n/", "qmd://n/sub", "/", "qmd://nope/"]), text(chance)],
            ["context", chance.choice(["list", "rm"]), "qmd://n/"],
            [text(chance), query],
        ]
    )
    if chance.random() < 0.1:
        made.insert(chance.randrange(len(made)), chance.choice(EVIL)[:200])
    refused = {"mcp", "daemon", "serve-daemon", "install-shim"}  # they start processes: other doors
    return [*(word.replace("\x00", "") for word in made if word not in refused), *options]


def _write(folder, name, content):
    try:
        path = folder / name
        if ".." in path.parts or not path.resolve().is_relative_to(folder.resolve()):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(content) if isinstance(content, str) else b"")
    except (OSError, ValueError):
        return  # no name for a file here


def _spoil(world, spoiled):
    pattern = {
        "config": "config/qmd/*.json",
        "index": "cache/qmd/*.sqlite3",
        "index-wal": "cache/qmd/*.sqlite3",
    }
    for path in sorted(world.home.glob(pattern.get(str(spoiled.get("file")), "none"))):
        if spoiled.get("file") == "index-wal":
            path = path.with_name(f"{path.name}-wal")
            path.write_bytes(b"")
        path.write_bytes(damage(random.Random(spoiled.get("seed", 0)), path.read_bytes() or bytes(4_096)))
