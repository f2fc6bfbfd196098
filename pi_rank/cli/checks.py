"""The checks that `pi-rank doctor` runs, each on one part, none of them able to stop the others."""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import platform
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pi_rank
from pi_rank.cli.arguments import model_name, sources
from pi_rank.errors import PiRankError

if TYPE_CHECKING:
    from pi_rank.store.store import MemoryStore

SHOWN_PROBLEMS = 5  # of the memory files; `pi-rank sync` names all
REINSTALL = "reinstall it: pip install --force-reinstall --no-deps pi-rank; in a checkout: pip install -e ."


class Check(NamedTuple):
    """What one check found. `fix` says what to do, where there is something to do."""

    name: str
    state: Literal["ok", "note", "wrong"]
    detail: str
    fix: str = ""


def run_checks(arguments: argparse.Namespace) -> list[Check]:
    """Every check, in the order in which later ones depend on earlier ones."""
    checks: list[tuple[str, Callable[[argparse.Namespace], Check]]] = [
        ("python", check_python),
        ("compiled core", check_core),
        ("SQLite FTS5", check_fts5),
        ("libraries", check_libraries),
        ("hnswlib", check_hnswlib),
        ("model", check_model),
        ("trust", check_trust),
        ("memory files", check_memory),
        ("store", check_store),
    ]
    return [_guarded(name, check, arguments) for name, check in checks]


def _guarded(name: str, check: Callable[[argparse.Namespace], Check], arguments: argparse.Namespace) -> Check:
    # A broken installation fails in ways nobody lists; doctor reports them instead of being one more failure.
    try:
        return check(arguments)
    except (PiRankError, OSError) as error:
        return Check(name, "wrong", str(error))
    except Exception as error:
        return Check(name, "wrong", f"{type(error).__name__}: {error}", REINSTALL)


def check_python(_: argparse.Namespace) -> Check:
    """Which Python and which pi_rank this is."""
    where = Path(pi_rank.__file__).parent
    detail = (
        f"pi_rank {pi_rank.__version__} in {where}, Python {platform.python_version()} at {sys.executable}"
    )
    return Check("python", "ok", detail)


def check_core(_: argparse.Namespace) -> Check:
    """Each compiled module can be loaded. Their stubs are always installed and say which there should be."""
    folder = Path(pi_rank.__file__).parent / "_core"
    names = sorted(stub.stem for stub in folder.glob("*.pyi"))
    broken = [f"{name} ({error})" for name in names if (error := _import_error(f"pi_rank._core.{name}"))]
    if broken or not names:
        fix = f"{REINSTALL} (needs a C++17 compiler where there is no wheel)"
        return Check("compiled core", "wrong", f"cannot load {', '.join(broken) or 'anything'}", fix)
    return Check("compiled core", "ok", ", ".join(names))


def _import_error(module: str) -> str:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return str(error)
    return ""


def check_fts5(_: argparse.Namespace) -> Check:
    """Python's SQLite has the full-text module and the tokeniser that ranking is defined by."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text, tokenize = 'porter unicode61')")
        connection.execute("INSERT INTO probe VALUES ('deploying')")
        found = connection.execute("SELECT count(*) FROM probe WHERE probe MATCH 'deploy'").fetchone()[0]
    except sqlite3.Error as error:
        fix = "use a Python whose sqlite3 has FTS5: python.org, conda, uv and the Linux distributions' all do"
        return Check("SQLite FTS5", "wrong", f"SQLite {sqlite3.sqlite_version}: {error}", fix)
    finally:
        connection.close()
    if found != 1:
        return Check(
            "SQLite FTS5", "wrong", f"SQLite {sqlite3.sqlite_version} does not stem", "use another SQLite"
        )
    return Check("SQLite FTS5", "ok", f"SQLite {sqlite3.sqlite_version}")


def check_libraries(_: argparse.Namespace) -> Check:
    """The libraries that pi_rank needs can be loaded; which versions they have."""
    from importlib.metadata import version

    names = ["numpy", "msgspec", "platformdirs", "tqdm"]
    broken = [f"{name} ({error})" for name in names if (error := _import_error(name))]
    if broken:
        return Check(
            "libraries", "wrong", f"cannot load {', '.join(broken)}", "pip install --upgrade pi-rank"
        )
    return Check("libraries", "ok", ", ".join(f"{name} {version(name)}" for name in names))


def check_hnswlib(_: argparse.Namespace) -> Check:
    """Whether graphs can be built. A memory of any size is served without: by an exact scan."""
    from importlib.metadata import version

    from pi_rank.ranking.graphs.hnsw import can_build

    if not can_build():
        detail = "not installed: no graphs are built, vectors are scanned exactly whatever their number"
        return Check("hnswlib", "note", detail, "pip install 'pi-rank[hnsw]' (needs a C++ compiler)")
    if error := _import_error("hnswlib"):
        fix = "pip install --force-reinstall --no-cache-dir --no-deps hnswlib (needs a C++ compiler)"
        return Check("hnswlib", "wrong", f"cannot be loaded: {error}", fix)
    return Check("hnswlib", "ok", version("hnswlib"))


def check_trust(_: argparse.Namespace) -> Check:
    """Which folders the user trusts, and what of this folder's settings is left out."""
    import warnings

    from pi_rank.errors import UntrustedWarning
    from pi_rank.memory.local_memory import local_memory, standing
    from pi_rank.memory.trusted import trusted_folders

    folders = {folder: standing(folder, entry) for folder, entry in trusted_folders().items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UntrustedWarning)
        local_memory(Path.cwd())
    left_out = [str(warning.message) for warning in caught]
    shown = [f"{folder} ({state})" for folder, state in folders.items()] or ["no folder is trusted"]
    changed = left_out or any(state != "trusted" for state in folders.values())
    fix = "look at them, then pi-rank trust DIR or pi-rank untrust DIR" if changed else ""
    return Check("trust", "note" if changed else "ok", "; ".join([*shown, *left_out]), fix)


def check_memory(arguments: argparse.Namespace) -> Check:
    """The memory root is there, and each of its lines can be used."""
    from pi_rank.memory.root import MemoryRoot
    from pi_rank.sources.registry import open_sources

    root = MemoryRoot(_root(arguments), opener=open_sources, sources=sources(arguments))
    contents = root.read()
    notes = root.notes(dt.datetime.now(dt.timezone.utc).date())
    problems = [f"{line.file}:{line.line}: {line.reason}" for line in contents.skipped]
    problems += [*contents.warnings, *root.config().warnings, *notes.warnings]
    counts = f"{len(contents.records)} records, {len(contents.tombstones)} deletion markers in {root.path}"
    unplaced = [
        f"{sourced.file}:{sourced.line}"
        for sourced in contents.records
        if sourced.record.layer != "L1" and sourced.record.scope.names_no_project
    ]
    if unplaced:
        counts += f"; of scope project without a project, so applied in every project: {_some(unplaced)}"
    if problems:
        if not (root.path / "memory").is_dir():
            fix = "give the folder that PI's memory folder is in: --root DIR, or set PI_MEMORY_ROOT"
        elif contents.skipped:
            fix = "correct these lines; the others are used"
        else:
            fix = "mend these files; the others are used"
        return Check("memory files", "wrong", f"{counts}; {_some(problems)}", fix)
    if unplaced:
        return Check(
            "memory files", "note", counts, "name the project in scope.project, or make the scope global"
        )
    return Check("memory files", "ok", counts)


def _some(items: list[str]) -> str:
    more = f"; and {len(items) - SHOWN_PROBLEMS} more" if len(items) > SHOWN_PROBLEMS else ""
    return "; ".join(items[:SHOWN_PROBLEMS]) + more


def _root(arguments: argparse.Namespace) -> Path:
    from pi_rank.memory.root import find_memory_root

    return find_memory_root(arguments.root, Path.cwd())


def _store_path(arguments: argparse.Namespace) -> Path:
    from pi_rank.store.store import default_store_path

    if arguments.store:
        return Path(arguments.store)
    return default_store_path(_root(arguments), map(str, sources(arguments) or ()))


def check_model(arguments: argparse.Namespace) -> Check:
    """The model's files are those of its card, and it embeds a sentence."""
    from pi_rank.embedding import load_embedder
    from pi_rank.embedding.cards import FileCard
    from pi_rank.embedding.registry import find_card, verify

    name = _model(arguments)
    if name is None:
        return Check("model", "ok", "none: records are ranked by words only")
    card = find_card(name)
    if isinstance(card, FileCard):
        verify(card)
    vector = load_embedder(name).embed_query("Is anybody there?")
    checked = f"{len(card.files)} files as in its card, " if isinstance(card, FileCard) else ""
    return Check("model", "ok", f"{card.id}: {checked}{len(vector)} dimensions")


def _model(arguments: argparse.Namespace) -> str | None:
    """The model that answers: the one named, else the store's."""
    from pi_rank.errors import MemoryRootError, StoreError
    from pi_rank.store.store import MemoryStore

    name = model_name(arguments)
    if name != "default":
        return name
    try:
        path = _store_path(arguments)
        with MemoryStore.open(path, read_only=True) as store:
            return store.model_choice().answering
    except (MemoryRootError, StoreError):  # other checks say so
        return name


def check_store(arguments: argparse.Namespace) -> Check:
    """The store is of this version and holds what was written; one that is not there yet is no fault."""
    from pi_rank.store.store import MemoryStore

    path = _store_path(arguments)
    if not path.exists():
        return Check(
            "store", "note", f"not made yet: {path}", "pi-rank sync makes it; context and search do so too"
        )
    with MemoryStore.open(path, read_only=True) as store:
        faults = store.faults()
        records = len(store.rows().added)
        vectors = ", ".join(f"{count} vectors of {model}" for model, count in store.vector_counts().items())
        missing = _to_embed(store, _model(arguments))
    if faults:
        mend = "pi-rank rebuild makes it anew from the memory files"
        return Check("store", "wrong", f"{path}: {'; '.join(faults)}", mend)
    detail = f"{records} records, {vectors or 'no vectors'} in {path}"
    if missing:
        return Check(
            "store", "note", f"{detail}; {missing} texts are not embedded yet", "pi-rank sync embeds them"
        )
    return Check("store", "ok", detail)


def _to_embed(store: MemoryStore, name: str | None) -> int:
    from pi_rank.embedding.registry import find_card

    card = None if name is None else find_card(name)
    # The id of any other model is known only once it is loaded.
    return len(store.missing_vectors(card.model_id)) if card is not None and card.model_id else 0
