"""The collections and contexts that a user has set up: one JSON file, changed whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pi_rank.files.locks import Held, exclusive
from pi_rank.files.private import replace_private
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.text import clean

DEFAULT_PATTERN = "**/*.md"
MARKDOWN, MEMORY = "markdown", "memory"
LOCK_SECONDS = 5.0


class Collection(NamedTuple):
    """A folder under a name.

    `kind`: Markdown files, or PI's memory. `contexts`: text by path prefix. `store`: the file that holds a
    memory collection's records, by which a search need not load what knows where stores are.
    """

    name: str
    path: str
    pattern: str = DEFAULT_PATTERN
    kind: str = MARKDOWN
    included: bool = True
    contexts: dict[str, str] = {}  # noqa: RUF012  (never changed in place)
    store: str = ""

    @property
    def uri(self) -> str:
        """`qmd://name/`."""
        return f"qmd://{self.name}/"


class Config(NamedTuple):
    """What the file says."""

    collections: dict[str, Collection]
    global_context: str | None = None
    daemon_on_demand: bool = False

    def collection(self, name: str) -> Collection:
        """The collection called `name`.

        :raises QmdError: there is none.
        """
        if name not in self.collections:
            raise QmdError(f"Collection not found: {name}")
        return self.collections[name]

    def searched(self, names: list[str]) -> list[Collection]:
        """The collections to search: the named ones, else all that are included by default.

        :raises QmdError: a name is unknown.
        """
        if names:
            return [self.collection(name) for name in dict.fromkeys(names)]
        return [each for each in self.collections.values() if each.included]

    def context(self, collection: str, path: str) -> str | None:
        """The contexts of a file from the widest to the narrowest, with an empty line between them."""
        own = self.collections[collection].contexts if collection in self.collections else {}
        found = [own[prefix] for prefix in sorted(own, key=len) if _covers(prefix, path)]
        everywhere = [self.global_context] if self.global_context else []
        return "\n\n".join(everywhere + found) or None

    def with_collection(self, collection: Collection) -> Config:
        """This configuration with a collection added or changed."""
        return self._replace(collections={**self.collections, collection.name: collection})


def _covers(prefix: str, path: str) -> bool:
    return not prefix or path == prefix or path.startswith(f"{prefix}/")


def load(path: Path) -> Config:
    """The configuration at `path`; an empty one where there is no file.

    :raises QmdError: the file is not what this program writes. It is left as it is.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config({})
    except (OSError, UnicodeDecodeError) as error:
        raise QmdError(f"The configuration {path} cannot be read: {error}") from None
    try:
        return _decoded(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise QmdError(
            f"The configuration {path} is broken: {type(error).__name__}: {error}\n"
            "Correct it, or move it away and add your collections again."
        ) from None


@contextmanager
def changing(path: Path) -> Iterator[list[Config]]:
    """The configuration in a list of one, written back when the block puts another one there.

    :raises QmdError: it is broken, cannot be written, or another process keeps it.
    """
    try:
        with exclusive(path.with_suffix(".lock"), LOCK_SECONDS):
            before = load(path)
            box = [before]
            yield box
            if box[0] != before:
                _write(path, box[0])
    except Held:
        raise QmdError(f"Another process is changing {path}; try again.") from None
    except OSError as error:
        raise QmdError(f"The configuration {path} cannot be written: {error.strerror or error}") from None


def _write(path: Path, config: Config) -> None:
    text = json.dumps(_encoded(config), ensure_ascii=False, indent=2) + "\n"
    replace_private(path, text.encode())


def _encoded(config: Config) -> dict[str, Any]:
    collections = {}
    for each in config.collections.values():
        fields = each._asdict()
        collections[fields.pop("name")] = fields
    return {
        "collections": collections,
        "global_context": config.global_context,
        "daemon_on_demand": config.daemon_on_demand,
    }


def _decoded(document: dict[str, Any]) -> Config:
    collections = {}
    for name, fields in document["collections"].items():
        collection = Collection(name=name, **fields)
        _check(collection)
        collections[name] = collection
    context = document.get("global_context")
    if not (context is None or (isinstance(context, str) and context == clean(context))):
        raise TypeError("global_context is not text")
    return Config(collections, context, bool(document.get("daemon_on_demand", False)))


def _check(collection: Collection) -> None:
    texts = (
        collection.name,
        collection.path,
        collection.pattern,
        collection.store,
        *collection.contexts,
        *collection.contexts.values(),
    )
    usable = all(isinstance(text, str) and text == clean(text) for text in texts)
    if not usable or collection.kind not in (MARKDOWN, MEMORY):
        raise TypeError(f"collection {collection.name!r} has a value of the wrong kind")
