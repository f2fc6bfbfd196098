"""A snapshot in one file beside the store: the next process reads it, and asks SQLite for what came since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pi_rank._core.negative_scope import PhraseAutomaton
from pi_rank.ranking.array_file import CacheMismatch, read_arrays, write_arrays
from pi_rank.ranking.lexical import ARRAYS_VERSION, LexicalIndex
from pi_rank.ranking.names import KEYS_VERSION, NameIndex
from pi_rank.ranking.overlap import OverlapIndex
from pi_rank.ranking.semantic import VectorIndex
from pi_rank.snapshot.columns import Codebooks, Columns, read_phrases
from pi_rank.snapshot.live_part import LivePart, live_part
from pi_rank.snapshot.snapshot import (
    Snapshot,
    contested_rows,
    hard_rules,
    identity_rows,
    tie_ranks,
    without_vectors,
)
from pi_rank.store.rows import StoreVersion
from pi_rank.version import __version__

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

# The number goes up when the file's contents change, or what the codes in the columns mean.
_KIND = f"snapshot 5, lexical {ARRAYS_VERSION}, names {KEYS_VERSION}"
_LEXICAL = "lexical."
_NAMES = "names."


class _Rest(msgspec.Struct, array_like=True):
    """What of a snapshot is no array. `phrases`, `wanted`: by row, of those that have any."""

    version: tuple[int, int, bytes]
    model_id: str | None
    last_vector: int
    ids: list[str]
    payloads: list[bytes]
    phrases: dict[int, tuple[str, ...]]
    wanted: dict[int, tuple[str, ...]]
    profiles: list[str]
    projects: list[str]
    texts: list[bytes]
    readers: list[str]


_decode = msgspec.msgpack.Decoder(_Rest).decode


def snapshot_path(store: Path) -> Path:
    """Where the snapshot of a store is kept."""
    return store.with_name(f"{store.name}.snapshot")


def write_snapshot(snapshot: Snapshot, path: Path, uuid: str) -> None:
    """Write a snapshot of the store named `uuid`; a reader sees the old file or the whole new one.

    Rows that are dead are left out, and so is all that only they had.

    :raises OSError: the file cannot be written; the old one is untouched.
    """
    part = live_part(snapshot)
    arrays: Arrays = {
        "rowids": snapshot.rowids[part.rows],
        "order": part.order,
        "text_node": part.text_node,
        "node_text": part.node_text,
        **part.columns._asdict(),
        **{_LEXICAL + name: array for name, array in snapshot.lexical.arrays().items()},
        **{_NAMES + name: array for name, array in snapshot.names.arrays(part.rows).items()},
    }
    if part.vectors is not None:
        arrays["vectors"] = part.vectors.ravel()
    arrays["rest"] = np.frombuffer(msgspec.msgpack.encode(_rest(snapshot, part)), np.uint8)
    write_arrays(path, _KIND, _key(uuid), arrays)


def read_snapshot(path: Path, uuid: str, model_id: str | None) -> Snapshot:
    """The snapshot that was saved for the store `uuid`, of any generation; its vectors only if of `model_id`.

    :raises CacheMismatch: none is there, or it is damaged, of another store or by another version of pi_rank.
    """
    arrays = read_arrays(path, _KIND, _key(uuid))
    try:
        rest = _decode(arrays["rest"].data)
    except msgspec.MsgspecError as error:
        raise CacheMismatch(f"{path} is not readable: {error}") from None
    columns = Columns._make(arrays[name] for name in Columns._fields)
    n_rows = len(rest.ids)
    live = np.ones(n_rows, np.bool_)
    tie_rank = tie_ranks(arrays["order"], n_rows)
    lexical = LexicalIndex.from_arrays(_lexical(arrays))
    snapshot = Snapshot(
        version=StoreVersion._make(rest.version),
        model_id=rest.model_id,
        last_vector=rest.last_vector,
        ids=rest.ids,
        payloads=rest.payloads,
        columns=columns,
        tie_rank=tie_rank,
        hard_rules=hard_rules(columns, live, tie_rank),
        identity=identity_rows(columns, live, tie_rank),
        lexical=lexical,
        names=NameIndex.from_arrays(arrays[f"{_NAMES}keys"], arrays[f"{_NAMES}rows"], n_rows),
        contested=OverlapIndex(lexical, contested_rows(columns, live)),
        phrases=PhraseAutomaton.build([rest.phrases.get(row, ()) for row in range(n_rows)]),
        wanted=PhraseAutomaton.build([rest.wanted.get(row, ()) for row in range(n_rows)]),
        vectors=_vectors(arrays, columns) if model_id == rest.model_id else None,
        books=Codebooks.of(rest.profiles, rest.projects, rest.texts, rest.readers),
        rowids=arrays["rowids"],
        live=live,
        order=arrays["order"],
        text_node=arrays["text_node"],
        node_text=arrays["node_text"],
    )
    return snapshot if model_id == rest.model_id else without_vectors(snapshot, model_id)


def model_in(path: Path, uuid: str) -> str | None:
    """Whose vectors the file holds; None where it holds none.

    :raises CacheMismatch: as `read_snapshot`.
    """
    return _decode(read_arrays(path, _KIND, _key(uuid))["rest"].data).model_id


def _key(uuid: str) -> str:
    # The version stands for the rules by which columns are made of records.
    return f"{uuid} {__version__}"


def _rest(snapshot: Snapshot, part: LivePart) -> _Rest:
    rows = part.rows.tolist()
    payloads = [snapshot.payloads[row] for row in rows]
    phrases = [read_phrases(payload) for payload in payloads]
    return _Rest(
        version=snapshot.version,
        model_id=snapshot.model_id,
        last_vector=snapshot.last_vector,
        ids=[snapshot.ids[row] for row in rows],
        payloads=payloads,
        phrases={row: own.against for row, own in enumerate(phrases) if own.against},
        wanted={row: own.wanted for row, own in enumerate(phrases) if own.wanted},
        profiles=part.profiles,
        projects=part.projects,
        texts=part.texts,
        readers=part.readers,
    )


def _lexical(arrays: Arrays) -> Arrays:
    return {name.removeprefix(_LEXICAL): array for name, array in arrays.items() if name.startswith(_LEXICAL)}


def _vectors(arrays: Arrays, columns: Columns) -> VectorIndex | None:
    if "vectors" not in arrays:
        return None
    matrix = arrays["vectors"].reshape(len(arrays["node_text"]), -1)
    return VectorIndex.build(matrix, arrays["text_node"][columns.text])
