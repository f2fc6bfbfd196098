"""`collection`: what is indexed, and under which name."""

from __future__ import annotations

import os
from pathlib import Path

from pi_rank.qmd import config as configuration
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.config import DEFAULT_PATTERN, MEMORY, Collection, Config
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.index.collection_rows import forget_rows, rename_rows
from pi_rank.qmd.index.patterns import matcher
from pi_rank.qmd.search.collection_facts import ago, counted, shown_pattern
from pi_rank.qmd.stores import kind_of, store_path
from pi_rank.qmd.text import clean

USAGE = "Usage: qmd collection <add|list|remove|rename|show|include|exclude>"


def run_collection(call: Call) -> int:
    """One of the `collection` commands."""
    commands = {
        "add": _add, "list": _list, "remove": _remove, "rm": _remove, "rename": _rename, "mv": _rename,
        "show": _show, "info": _show, "include": _include, "exclude": _exclude,
    }  # fmt: skip
    if not call.words:
        call.line(USAGE)
        return 0
    action = call.words[0]
    if action not in commands:
        raise QmdError(f"Unknown subcommand: {action}\n{USAGE}")
    return commands[action](call, call.words[1:])


def _add(call: Call, words: list[str]) -> int:
    given = words[0] if words else "."
    path = Path(os.path.realpath(call.absolute(given)))  # Path.resolve fails at a loop of links
    name = call.arguments.value("name") or path.name or "root"
    pattern = call.arguments.value("mask") or DEFAULT_PATTERN
    _check_name(name)
    if str(path) != clean(str(path)):
        raise QmdError(f"The path is not Unicode: {str(path)!a}\nRename the folder, or add it by a link.")
    matcher(pattern)
    if pattern != clean(pattern):
        raise QmdError(f"The pattern is not Unicode: {pattern!a}")
    with configuration.changing(call.places.config) as box:
        _refuse_known(box[0], name, str(path), pattern)
        if not path.is_dir():
            raise QmdError(
                f"Collection path does not exist.\n  Received: {given}\n  Resolved: {path}\n"
                "Provide an existing directory and run 'qmd collection add <path>' again."
            )
        kind = kind_of(path)
        store = str(store_path(str(path))) if kind == MEMORY else ""
        collection = Collection(name, str(path), pattern, kind, store=store)
        box[0] = box[0].with_collection(collection)
    call.line(f"Creating collection '{name}'...")
    from pi_rank.qmd.commands.update import index_collection, tell_pending

    index_collection(call, collection)
    tell_pending(call)
    call.line(f"✓ Collection '{name}' created successfully")
    return 0


def _check_name(name: str) -> None:
    if not name.strip() or name != clean(name).strip() or any(mark in name for mark in "/\n\r"):
        raise QmdError(f"Not a name for a collection: {name!r}\nA name has no slash and no line break.")


def _refuse_known(config: Config, name: str, path: str, pattern: str) -> None:
    if name in config.collections:
        raise QmdError(f"Collection '{name}' already exists.\nUse a different name with --name <name>")
    for each in config.collections.values():
        if each.path == path and each.pattern == pattern:
            raise QmdError(
                "A collection already exists for this path and pattern:\n"
                f"  Name: {each.name} ({each.uri})\n  Pattern: {each.pattern}\n\n"
                "Use 'qmd update' to re-index it, "
                f"or remove it first with 'qmd collection remove {each.name}'"
            )


def _list(call: Call, words: list[str]) -> int:
    with call.library() as library:
        collections = list(library.config.collections.values())
        if not collections:
            call.line("No collections. Run 'qmd collection add .' to index markdown files.")
            return 0
        call.line(f"Collections ({len(collections)}):\n")
        for each in collections:
            files, updated = counted(library, each)
            call.line(f"{each.name} ({each.uri}){'' if each.included else ' [excluded]'}")
            call.line(f"  Pattern:  {shown_pattern(each)}\n  Files:    {files}\n  Updated:  {ago(updated)}\n")
    return 0


def _show(call: Call, words: list[str]) -> int:
    each = configuration.load(call.places.config).collection(_one(words, "show <name>"))
    call.line(f"Collection: {each.name}\n  Path:     {each.path}\n  Pattern:  {shown_pattern(each)}")
    call.line(f"  Include:  {'yes (default)' if each.included else 'no'}\n  Contexts: {len(each.contexts)}")
    return 0


def _remove(call: Call, words: list[str]) -> int:
    name = _one(words, "remove <name>")
    with configuration.changing(call.places.config) as box:
        kind = _known(box[0], name).kind
        box[0] = box[0]._replace(
            collections={key: each for key, each in box[0].collections.items() if key != name}
        )
    files, orphans = forget_rows(call.places.database, name)
    call.line(f"✓ Removed collection '{name}'")
    if kind == MEMORY:
        call.line("  The memory itself, and its store, are left as they are")
        return 0
    call.line(f"  Deleted {files} documents")
    if orphans:
        call.line(f"  Cleaned up {orphans} orphaned content hashes")
    return 0


def _rename(call: Call, words: list[str]) -> int:
    if len(words) < 2:
        raise QmdError(
            "Usage: qmd collection rename <old-name> <new-name>\n"
            "  Use 'qmd collection list' to see available collections"
        )
    old, new = words[0], words[1]
    _check_name(new)
    with configuration.changing(call.places.config) as box:
        collection = _known(box[0], old)._replace(name=new)
        if new in box[0].collections:
            raise QmdError(f"Collection '{new}' already exists.")
        rename_rows(call.places.database, old, new)
        renamed = [collection if key == old else each for key, each in box[0].collections.items()]
        box[0] = box[0]._replace(collections={each.name: each for each in renamed})
    call.line(f"✓ Renamed collection '{old}' to '{new}'")
    call.line(f"  Virtual paths updated: qmd://{old}/ → qmd://{new}/")
    return 0


def _include(call: Call, words: list[str]) -> int:
    return _set_included(call, _one(words, "include <name>"), True)


def _exclude(call: Call, words: list[str]) -> int:
    return _set_included(call, _one(words, "exclude <name>"), False)


def _set_included(call: Call, name: str, included: bool) -> int:
    with configuration.changing(call.places.config) as box:
        box[0] = box[0].with_collection(_known(box[0], name)._replace(included=included))
    call.line(f"✓ Collection '{name}' {'included in' if included else 'excluded from'} default queries")
    return 0


def _one(words: list[str], usage: str) -> str:
    if not words:
        raise QmdError(f"Usage: qmd collection {usage}")
    return words[0]


def _known(config: Config, name: str) -> Collection:
    if name not in config.collections:
        raise QmdError(
            f"Collection not found: {name}\nRun 'qmd collection list' to see available collections."
        )
    return config.collections[name]
