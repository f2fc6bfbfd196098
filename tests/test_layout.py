"""How the code is laid out: imports go down only, no room is crowded, no file too long, public names stay."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import pi_rank
from tests.surface import public_names

PACKAGE = Path(pi_rank.__file__).resolve().parent  # installed, perhaps, and not beside the tests
REPOSITORY = Path(__file__).resolve().parents[1]
OTHERS = ("benchmarks", "tests", "ext")
MOST_FILES, MOST_LINES = 16, 400
SOURCES = (".py", ".pyi", ".pyx", ".pxd", ".hpp")

# From the ground up: what is imported stands in an earlier line, or beside it in the same folder. What stands
# in one line does not know the others of that line.
LAYERS = {
    "pi_rank": (
        {
            "errors",
            "version",
            "words",
            "batch",
            "clock",
            "names",
            "characters",
            "folding",
            "files",
            "_core",
        },
        {"memory", "embedding", "ranking", "serving"},
        {"block", "context", "results"},
        {"store", "batch_files", "places", "sources"},
        {"snapshot", "transfer"},
        {"turn"},
        {"engine"},
        {"once", "injection", "recall", "qmd"},
        {"agents"},
        {"daemon"},
        {"cli"},
        {"launch"},
    ),
    "pi_rank.recall": (
        {"types", "rows"},
        {"engine_recall", "notes", "client", "participants"},
        {"server"},
    ),
    "pi_rank.qmd": (
        {"errors", "text", "launcher", "background"},
        {"arguments", "config", "paths"},
        {"stores", "index"},
        {"shelves"},
        {"warm"},
        {"search"},
        {"mcp"},
        {"commands"},
        {"command"},
        {"daemon"},
    ),
    "pi_rank.injection": (
        {"result", "secret_forms", "segments"},
        {"secrets"},
        {"history"},
        {"growing"},
        {"target", "tokens", "novelty", "per_call", "prefix_check", "render"},
        {"call"},
        {"append"},
        {"write"},
        {"injector", "tools"},
        {"adapters"},
    ),
}
# A package whose `types` know `rows`, and the like: neighbours on one floor that may look at each other.
BESIDE = {("pi_rank.recall", "rows", "types")}


def modules():
    """Every module of the package with its syntax tree."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    """The dotted names that a module imports, also inside functions and for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def arrows():
    return [(name, target) for name, tree in modules() for target in imported(tree)]


def floor_of(package, name):
    """(floor, room) of a dotted name inside `package`; None where it is the package's own face."""
    room = name.removeprefix(f"{package}.").partition(".")[0]
    floors = [number for number, rooms in enumerate(LAYERS[package]) if room in rooms]
    return (floors[0], room) if floors else None


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_down_only(package):
    climbing = []
    for name, target in arrows():
        inside = name.startswith(f"{package}.") and target.startswith(f"{package}.")
        here, there = (floor_of(package, name), floor_of(package, target)) if inside else (None, None)
        if here is None or there is None or here[1] == there[1]:
            continue
        if there[0] >= here[0] and (package, here[1], there[1]) not in BESIDE:
            climbing.append(f"{name} -> {target}")
    assert climbing == []


@pytest.mark.parametrize("package", LAYERS)
def test_every_room_has_its_floor(package):
    folder = PACKAGE.parent.joinpath(*package.split("."))
    rooms = {path.stem for path in folder.iterdir() if path.suffix == ".py"} | {
        path.name for path in folder.iterdir() if (path / "__init__.py").exists()
    }
    listed = Counter(room for floor in LAYERS[package] for room in floor)
    assert set(listed) == rooms - {"__init__"}
    assert max(listed.values()) == 1


def test_nothing_imports_in_a_circle():
    below = {}
    names = {name for name, _ in modules()}
    for name, tree in modules():
        eager = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        targets = imported(ast.Module(body=eager, type_ignores=[]))
        below[name] = {t if t in names else t.rpartition(".")[0] for t in targets} & names - {name}
    path, done = [], set()

    def visit(name):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            path.append(name)
            for target in sorted(below[name]):
                visit(target)
            done.add(path.pop())

    for name in below:
        visit(name)


def folders():
    return [path for top in (PACKAGE, *map(REPOSITORY.joinpath, OTHERS)) for path in _folders(top)]


def _folders(top):
    return [top, *(path for path in sorted(top.rglob("*")) if path.is_dir() and path.name != "__pycache__")]


def test_no_room_is_crowded():
    crowded = {
        str(folder): count
        for folder in folders()
        if folder.name != "ext"
        and (count := sum(1 for path in folder.iterdir() if path.suffix == ".py")) > MOST_FILES
    }
    assert crowded == {}


def test_no_file_is_too_long():
    long = {
        str(path): lines
        for top in (PACKAGE, REPOSITORY / "benchmarks", REPOSITORY / "models", REPOSITORY / "ext")
        for path in sorted(top.rglob("*"))
        if path.suffix in SOURCES and (lines := len(path.read_bytes().splitlines())) > MOST_LINES
    }
    assert long == {}


PUBLIC_NAMES = {
    "pi_rank": [
        "ConfigError",
        "ContextError",
        "Hit",
        "MemoryEngine",
        "MemoryRecord",
        "MemoryRootError",
        "ModelError",
        "PiRankError",
        "ProcessorTrace",
        "RecordError",
        "RetrievalContext",
        "SessionContext",
        "StoreError",
        "StoreVersionError",
        "SyncReport",
        "VectorError",
        "build_retrieval_context",
    ],
    "pi_rank.injection": [
        "InjectionResult",
        "Injector",
        "OwnText",
        "echoes",
        "find_tripping",
        "inject",
        "own_words",
        "quarantine",
        "strip_injected",
    ],
    "pi_rank.recall": [
        "CommandParticipant",
        "EngineRecall",
        "MemoryAugmentedParticipant",
        "MemoryHit",
        "MemoryPolicy",
        "MemoryRecall",
        "MemoryRecallResult",
        "RemanentiaHttpRecall",
        "TurnRequest",
        "TurnResult",
    ],
}


@pytest.mark.parametrize("module", PUBLIC_NAMES)
def test_the_public_names_are_these(module):
    assert public_names(module) == PUBLIC_NAMES[module]


BELOW_THE_TURN = (
    *("turn", "block", "snapshot", "ranking", "store"),
    *("files/cache.py", "results.py", "context.py", "words.py"),
)
# What makes an answer depend on when, where or by whom it is asked. `time.perf_counter` only measures.
LOOKS_OUTSIDE = {
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"),
    *("time.localtime", "time.gmtime", "os.getcwd", "Path.cwd", "os.environ", "os.getenv", "Path.home"),
}
MAY_LOOK_OUTSIDE = {
    "files/cache.py": {"os.environ"},  # where the user's cache folder is
}


def test_below_a_turn_nobody_looks_at_clock_environment_or_folder():
    found = {}
    for top in BELOW_THE_TURN:
        for path in sorted((PACKAGE / top).rglob("*.py")) if (PACKAGE / top).is_dir() else [PACKAGE / top]:
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            looks = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)} & LOOKS_OUTSIDE
            if looks:
                found[path.relative_to(PACKAGE).as_posix()] = looks
    assert found == MAY_LOOK_OUTSIDE
