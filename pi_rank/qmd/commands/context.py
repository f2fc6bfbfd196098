"""`context`: what a folder or everything is about, shown with each result from there."""

from __future__ import annotations

import os
from pathlib import Path

from pi_rank.qmd import config as configuration
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.config import Collection, Config
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.text import clean

USAGE = "Usage: qmd context <add|list|rm>"


def run(call: Call) -> int:
    """One of the `context` commands."""
    commands = {"add": _add_context, "list": _list_contexts, "rm": _remove_context, "remove": _remove_context}
    action = call.words[0] if call.words else "list"
    if action not in commands:
        raise QmdError(f"Unknown subcommand: {action}\n{USAGE}")
    return commands[action](call, call.words[1:])


def _add_context(call: Call, words: list[str]) -> int:
    if not words or (len(words) == 1 and not _is_path(words[0])):
        words = [".", *words]
    if len(words) < 2 or not " ".join(words[1:]).strip():
        raise QmdError("Usage: qmd context add [path] <text>")
    path, text = clean(words[0]), clean(" ".join(words[1:]))
    with configuration.changing(call.places.config) as box:
        if path == "/":
            box[0] = box[0]._replace(global_context=text)
            call.line(f"✓ Set global context\nContext: {text}")
            return 0
        collection, prefix = _place(call, box[0], path)
        contexts = {**collection.contexts, prefix: text}
        box[0] = box[0].with_collection(collection._replace(contexts=contexts))
    call.line(f"✓ Added context for: {collection.uri}{prefix}\nContext: {text}")
    return 0


def _is_path(word: str) -> bool:
    return word.startswith(("/", "qmd://", "./", "~")) or word == "."


def _list_contexts(call: Call, words: list[str]) -> int:
    config = configuration.load(call.places.config)
    with_some = [each for each in config.collections.values() if each.contexts]
    if not with_some and not config.global_context:
        call.line("No contexts configured. Use 'qmd context add' to add one.")
        return 0
    call.line("\nConfigured Contexts\n")
    if config.global_context:
        call.line(f"*\n  /\n    {config.global_context}")
    for each in with_some:
        call.line(each.name)
        for prefix, text in sorted(each.contexts.items()):
            call.line(f"  {prefix or '/ (root)'}\n    {text}")
    return 0


def _remove_context(call: Call, words: list[str]) -> int:
    if not words:
        raise QmdError("Usage: qmd context rm <path>")
    path = clean(words[0])
    with configuration.changing(call.places.config) as box:
        if path == "/":
            if box[0].global_context is None:
                raise QmdError("No global context found")
            box[0] = box[0]._replace(global_context=None)
            call.line("✓ Removed global context")
            return 0
        collection, prefix = _place(call, box[0], path)
        if prefix not in collection.contexts:
            raise QmdError(f"No context found for: {path}")
        contexts = {key: text for key, text in collection.contexts.items() if key != prefix}
        box[0] = box[0].with_collection(collection._replace(contexts=contexts))
    call.line(f"✓ Removed context for: {path}")
    return 0


def _place(call: Call, config: Config, path: str) -> tuple[Collection, str]:
    """The collection and the prefix in it that a `qmd://` path, or a path on disk, names."""
    if path.startswith("qmd://"):
        name, _, prefix = path.removeprefix("qmd://").partition("/")
        return config.collection(name), prefix.strip("/")
    target = Path(os.path.realpath(call.absolute(path)))
    for each in sorted(config.collections.values(), key=lambda each: -len(each.path)):
        if target.is_relative_to(each.path):
            prefix = target.relative_to(each.path).as_posix()
            return each, "" if prefix == "." else prefix
    raise QmdError(
        f"Path is not in any indexed collection: {target}\nRun 'qmd status' to see indexed collections"
    )
