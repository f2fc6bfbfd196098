"""Which model a store's vectors are of, and how another one takes over: in one transaction, once complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pi_rank.store.checks import state_row

if TYPE_CHECKING:
    import sqlite3

_INCOMPLETE = """
    SELECT 1 FROM records
    WHERE active AND text_hash NOT IN (SELECT text_hash FROM vectors WHERE model_id = ?) LIMIT 1"""


class ModelChoice(NamedTuple):
    """Two names for `load_embedder`, "default" in a new store.

    `wanted`: the model that was chosen. `answering`: the one whose vectors answer until those of `wanted` are
    complete, from when on it is the same one.
    """

    wanted: str
    answering: str


def read_choice(connection: sqlite3.Connection) -> ModelChoice:
    """The store's models."""
    return ModelChoice._make(state_row(connection, "model, answering_model"))


def write_choice(connection: sqlite3.Connection, wanted: str, answering: str | None = None) -> ModelChoice:
    """Choose a model. The one that answers now goes on answering, unless another is named."""
    connection.execute(
        "UPDATE state SET model = ?, answering_model = coalesce(?, answering_model)", (wanted, answering)
    )
    return read_choice(connection)


def hand_over(connection: sqlite3.Connection, wanted: str, model_id: str) -> bool:
    """Let the chosen model answer and forget the vectors of all others, if its own are complete.

    False where a text still lacks its vector, or where another model has been chosen meanwhile.
    """
    if read_choice(connection).wanted != wanted or connection.execute(_INCOMPLETE, (model_id,)).fetchone():
        return False
    connection.execute("UPDATE state SET answering_model = model")
    connection.execute("DELETE FROM vectors WHERE model_id != ?", (model_id,))
    return True
