"""Working directories: settings, package files and `.git`, as a cloned or unpacked folder may hold them."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

from pi_rank import MemoryEngine, SessionContext
from pi_rank.errors import ConfigError, ContextError
from pi_rank.memory.project import resolve_project
from pi_rank.memory.root import find_memory_root
from pi_rank.places import find_place
from tests.campaign.corpus import as_bytes
from tests.campaign.door import Door
from tests.campaign.values import junk, raw_line, spoil, text, words
from tests.support.memory import write_root

FORGED = "canary of a memory that nobody trusts"
PLACES = ["", "sub/", "sub/deeper/"]  # from the project's top to the working directory
NAMES = [".pi/settings.json", "package.json", "pyproject.toml", ".git", ".git/config", ".git/HEAD"]
TARGETS = ["/dev/zero", "/dev/stdin", "loop", "..", "../..", "/etc/passwd", "missing", "/proc/self/mem"]


class Folders(Door):
    """A folder of somebody else's, in which a turn is asked."""

    def make(self, chance):
        entries = {}
        for _ in range(chance.randint(1, 6)):
            entries[chance.choice(PLACES) + chance.choice(NAMES)] = _entry(chance)
        for place in chance.sample(PLACES, 1):
            entries[f"{place}.pi/settings.json"] = _settings(chance)
        return {"entries": entries, "below": chance.choice(PLACES), "prompt": f"how do we {words(chance)}?"}

    def run(self, case, trial):
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            top = Path(place, "project")
            write_root(
                top / "memory-of-theirs",
                [{"id": "mem_forged", "statement": FORGED, "ruleType": "correction"}],
            )
            for name, entry in case.get("entries", {}).items():
                trial.inputs += 1
                _write(top / name, entry)
            folder = top / str(case.get("below", ""))
            folder.mkdir(parents=True, exist_ok=True)
            self._look(folder, trial)
            self._ask(Path(place), folder, str(case.get("prompt", "")), trial)

    def _look(self, folder, trial):
        with trial.expecting("project", ConfigError, ContextError):
            project = resolve_project(folder)
            trial.check(project.id, "a project without an id", str(project)[:300])
        with trial.expecting("place", ConfigError, ContextError):
            find_place(str(folder))
        with trial.expecting("memory root", ConfigError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_memory_root(None, folder)
            trial.check(
                "memory-of-theirs" not in str(found), "a memory is used that nobody trusts", str(found)
            )

    def _ask(self, place, folder, prompt, trial):
        root = write_root(place / "root", [{"id": "mem_own", "statement": "deploy the orchard on friday"}])
        with trial.expecting("turn", ConfigError, ContextError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with MemoryEngine.open(root, store=place / "store.sqlite3", model=None) as engine:
                engine.sync()
                context = SessionContext(latest_user_message=prompt, working_directory=str(folder))
                result = engine.build_retrieval_context(context)
                trial.check(FORGED not in result.markdown, "a memory speaks that nobody trusts")
                trial.tallies["turns"] += 1


def _entry(chance):
    kind = chance.randrange(12)
    if kind < 2:
        return {"link": chance.choice(TARGETS)}
    if kind == 2:
        return {"pipe": True}
    if kind == 3:
        return {"folder": True}
    return chance.choice([_package, _pyproject, _git_config, _settings, lambda _: "gitdir: \x00", _garbage])(
        chance
    )


def _package(chance):
    return raw_line(chance, spoil(chance, {"name": text(chance), "version": "1"}))


def _pyproject(chance):
    name = text(chance).replace('"', "'")
    depth = chance.choice([0, 0, 10, 5_000])
    return f'[project]\nname = "{name}"\nx = {"[" * depth}{"]" * depth}\n[tool.poetry]\nname = 5\n'


def _git_config(chance):
    url = chance.choice([text(chance), "https://example.com/a/b.git", "git@example.com:a/b"])
    return f'[core]\n\tbare = {junk(chance)!r}\n[remote "origin"]\n\turl = {url}\n[remote "origin"]\nurl\n'


def _settings(chance):
    local = chance.choice(
        ["memory-of-theirs", "../memory-of-theirs", "/dev", "~", "~nobody", "\x00", text(chance)]
    )
    identity = chance.choice([text(chance), {"project_id": text(chance)}, junk(chance)])
    values = {"localPath": local, "projectIdentity": identity, "pi-persistent-intelligence": junk(chance)}
    return raw_line(chance, spoil(chance, values) if chance.random() < 0.5 else values)


def _garbage(chance):
    return chance.choice(
        ["", "\x00" * 100, "{" * 100_000, "gitdir: ..", "gitdir: " + "a/" * 3_000, text(chance)]
    )


def _write(path, entry):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(entry, dict) and "link" in entry:
            path.symlink_to(entry["link"])
        elif isinstance(entry, dict) and "pipe" in entry:
            os.mkfifo(path)
        elif isinstance(entry, dict):
            path.mkdir()
        else:
            path.write_bytes(_bytes(str(entry)))
    except (FileExistsError, NotADirectoryError, IsADirectoryError, ValueError):
        return  # another entry of the case stands there


def _bytes(content):
    try:
        return as_bytes(content)
    except UnicodeEncodeError:
        return content.encode("utf-8", "surrogatepass")
