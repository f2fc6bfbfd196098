"""The durable truth: one SQLite file of records, their search index and their vectors, in generations."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.errors import StoreError, StoreVersionError
from pi_rank.memory.contents import RootContents
from pi_rank.memory.project import slug
from pi_rank.results import SyncReport
from pi_rank.store.checks import check_names, check_state, record_faults, state_row, vector_faults
from pi_rank.store.kept import Kept, read_kept, root_name, unsure_of_tombstones, with_kept
from pi_rank.store.model import ModelChoice, hand_over, read_choice, write_choice
from pi_rank.store.places import STORE_NAME, refuse_planted_store, stores_folder
from pi_rank.store.rows import RowChanges, StoreVersion, is_known, new_mark, read_changes
from pi_rank.store.schema import (
    BUSY_SECONDS,
    REBUILD,
    DamagedStoreError,
    connect,
    fold_log,
    forget_words,
    patient_write,
    store_error,
    transaction,
    translated,
)
from pi_rank.store.sync import (
    Analyzer,
    apply_contents,
    apply_files,
    count_records,
    forget_records,
    last_report,
    read_fingerprints,
    write_fingerprints,
)
from pi_rank.store.vectors import (
    VectorRows,
    checked_rows,
    drop_unusable_vectors,
    read_missing,
    read_vectors,
    write_vectors,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pi_rank.memory.files import Fingerprint
    from pi_rank.memory.root import MemoryRoot

VECTORS_PER_TRANSACTION = 256  # an interrupted embedding keeps all but the last of these


class _Line:
    """One connection, and the lock by which threads take turns on it."""

    def __init__(self, path: Path, read_only: bool) -> None:
        self.connection = connect(path, read_only=read_only)
        self.lock = threading.Lock()


class MemoryStore:
    """The store of one memory root.

    Threads may share it. It has three connections, so that neither a long sync nor a long read keeps a turn
    from asking for the version. Other processes may read and write the same file: writes take turns, reads
    never wait.
    """

    def __init__(self, path: Path, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.why_read_only = f"the store {path} was opened to read only"
        self.unfolded = False  # whether this process has written to the log since it was folded
        self._words_gone = False
        self._lines: list[_Line] = []
        refuse_planted_store(path)
        try:
            self._writer = None if read_only else self._line(read_only=False)
            self._reader = self._line(read_only=True)
            self._pulse = self._line(read_only=True)
            refuse_planted_store(path)  # nor while it was opened
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> MemoryStore:
        """Open the store, making it where there is none.

        :raises StoreVersionError: the file is of another version of pi_rank, or another program's.
        :raises StoreError: it cannot be opened or made, is damaged, or `read_only` and not there.
        """
        return cls(Path(path), read_only)

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        for line in reversed(self._lines):  # the writer last: it folds the write-ahead log into the file
            with line.lock:
                line.connection.close()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def place(self) -> Path:
        """The file that the user knows as the store."""
        return self.path

    def require(self) -> None:
        """Nothing: a store that stands in for a damaged one raises here why."""

    @property
    def uuid(self) -> str:
        """The store's own name: caches made for another store's generation 7 are not for this one's."""
        with self._reading() as connection:
            return str(state_row(connection, "uuid")[0])

    @property
    def generation(self) -> int:
        """Goes up with each sync that changed something, by whichever process."""
        return self.version().generation

    def version(self) -> StoreVersion:
        """The store's version now: a few microseconds, and never waits for a writer."""
        try:
            with self._pulse.lock:
                found = self._pulse.connection.execute(_VERSION).fetchone()
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        if found is None:
            raise store_error(self.path, sqlite3.DatabaseError("its table of state is empty"))
        return StoreVersion._make(found)

    def knows(self, mark: bytes) -> bool:
        """Whether the store was in the state of that mark: what was derived from it is of its past."""
        with self._reading() as connection:
            return is_known(connection, mark)

    def verify(self) -> None:
        """Read the whole file and check that SQLite can use it; for a doctor, not for a turn.

        :raises StoreError: it is damaged; the message says where.
        """
        with self._reading() as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found == "ok":
                check_state(connection)
                check_names(connection)
                last_report(connection)
        if found != "ok":
            raise DamagedStoreError(f"the store {self.path} is damaged ({found}); {REBUILD}")

    def faults(self) -> list[str]:
        """What `verify` cannot see: rows and vectors that are not what was written. For a doctor.

        :raises StoreError: it is damaged as a whole.
        """
        self.verify()
        with self._reading() as connection:
            return [*record_faults(connection), *vector_faults(connection)]

    def sync(self, contents: RootContents, analyzer: Analyzer) -> SyncReport:
        """Make the store hold what a reading of the memory files found, in one transaction.

        :raises StoreError: it is read-only, of another root, or could not be written; then it is as it was.
        """
        with self._writing() as connection:
            return self._noted(apply_contents(connection, contents, analyzer))

    def sync_root(
        self, root: MemoryRoot, analyzer: Analyzer, *, patience: float = BUSY_SECONDS
    ) -> SyncReport:
        """Sync with a root. Only what has come since the last sync is decoded.

        :param patience: seconds to wait for another process that holds the store.
        :raises BusyStoreError: it still does.
        :raises MemoryRootError: the root is missing or cannot be read.
        :raises StoreError: as `sync`.
        """
        known, certain = self._fingerprints(root)
        if not certain or not root.unchanged_since(known):
            files = root.read_files(known)
            if not certain or not files.hold_the_same(known):
                with self._writing(patience) as connection:
                    return self._noted(apply_files(connection, files, analyzer))
            if files.fingerprints != known:
                with self._writing(patience) as connection:
                    write_fingerprints(connection, files.fingerprints)
        with self._reading() as connection:
            return last_report(connection)

    def replace(self, contents: RootContents, analyzer: Analyzer, kept: Kept | None = None) -> SyncReport:
        """Forget all records and take in `contents`, in one transaction; vectors of texts still there stay.

        Of files that could not be read, what they last held stays.

        :param kept: that, where another store knows it.
        :raises StoreError: it is read-only or could not be written; then it is as it was.
        :raises MemoryRootError: the deletion markers cannot be read, and never were.
        """
        with self._writing() as connection:
            if kept is None and (contents.unreadable or unsure_of_tombstones(contents)):
                kept = read_kept(connection, contents)
            contents = with_kept(contents, kept)
            forget_records(connection, contents.root)
            report = apply_contents(connection, contents, analyzer)
            drop_unusable_vectors(connection)
            forget_words(connection, "records_fts")
            return report

    def rows(self, since: StoreVersion | None = None) -> RowChanges:
        """Rows added and removed after the state `since`, all of one state of the store.

        All rows there are without it, and where it is no state that this store was in, or too old a one.
        """
        with self._reading() as connection:
            return read_changes(connection, since)

    def lexical_search(
        self, fts_query: str, k: int, rowids: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best `k` rows of an FTS5 query as (rowid, BM25 score), best first; higher is better.

        :param rowids: only these rows may be returned; None means all.
        :raises StoreError: FTS5 does not understand the query.
        """
        if not fts_query or k <= 0:
            return []
        among = "" if rowids is None else "AND rowid IN (SELECT value FROM json_each(?))"
        query = f"""SELECT rowid, -rank FROM records_fts WHERE records_fts MATCH ? {among}
            ORDER BY rank, rowid LIMIT ?"""
        given = (fts_query, k) if rowids is None else (fts_query, f"[{','.join(map(str, rowids))}]", k)
        with self._reading() as connection:
            return connection.execute(query, given).fetchall()

    def vectors(self, model_id: str, after: int = 0) -> VectorRows:
        """The model's vectors stored after version number `after` (see `StoreVersion.vectors`)."""
        with self._reading() as connection:
            return read_vectors(connection, model_id, after)

    def vector_counts(self) -> dict[str, int]:
        """Model id → how many vectors of it are stored."""
        with self._reading() as connection:
            return dict(connection.execute("SELECT model_id, count(*) FROM vectors GROUP BY model_id"))

    def missing_vectors(self, model_id: str) -> list[tuple[bytes, str]]:
        """(text hash, text) of what the model has still to embed: each text of an active record, once."""
        with self._reading() as connection:
            return read_missing(connection, model_id)

    def record_of(self, text_hash: bytes) -> str:
        """The id of a record with that text, for messages; empty where it is no longer there."""
        with self._reading() as connection:
            query = "SELECT id FROM records WHERE text_hash = ? ORDER BY rowid LIMIT 1"
            found = connection.execute(query, (text_hash,)).fetchone()
            return str(found[0]) if found else ""

    def put_vectors(self, model_id: str, text_hashes: Sequence[bytes], matrix: NDArray[np.float32]) -> None:
        """Store a model's vectors, float32[n, dimension], in chunks that each are safe once written.

        Vectors of texts that are no longer in memory are dropped, and one that is already there stays.

        :raises VectorError: wrong dtype, shape or dimension, or a value that is not finite.
        :raises StoreError: it could not be written; earlier chunks stay.
        """
        with self._reading() as connection:
            rows = checked_rows(connection, model_id, text_hashes, matrix)
        for start in range(0, len(rows), VECTORS_PER_TRANSACTION):
            with self._writing() as connection:
                write_vectors(connection, rows[start : start + VECTORS_PER_TRANSACTION])
                new_mark(connection, *state_row(connection, "generation"))

    def model_choice(self) -> ModelChoice:
        """The model that was chosen for this store, and the one that answers meanwhile."""
        with self._reading() as connection:
            return read_choice(connection)

    def choose_model(self, name: str, answering: str | None = None) -> ModelChoice:
        """Choose what `load_embedder` is to load for this store. Vectors are made, and dropped, by others.

        :param answering: the model that answers meanwhile; None leaves it as it is.
        """
        with self._writing() as connection:
            return write_choice(connection, name, answering)

    def hand_over(self, name: str, model_id: str) -> bool:
        """Let the chosen model `name` answer from now on and drop all other models' vectors.

        False, and nothing is changed, where it lacks a vector or another model has been chosen meanwhile.
        """
        with self._writing() as connection:
            return hand_over(connection, name, model_id)

    def fold_log(self, *, words: bool = False) -> None:
        """Fold the write-ahead log into the file, unless others use it just now; `unfolded` then stays.

        What was deleted is overwritten in the file; the log may hold pages from before, and the word index
        (`words`: whoever took them out) what is written anew here.
        """
        self._words_gone |= words
        if self._writer is not None and (self.unfolded or words):
            with self._writer.lock, translated(self.path):
                index = "records_fts" if self._words_gone else None
                self.unfolded = not fold_log(self._writer.connection, index)
            self._words_gone &= self.unfolded

    def drop_vectors(self, model_id: str) -> None:
        """Forget a model's vectors, once another model's are complete."""
        with self._writing() as connection:
            connection.execute("DELETE FROM vectors WHERE model_id = ?", (model_id,))

    def known_files(self, root: MemoryRoot) -> dict[str, Fingerprint]:
        """What the files looked like at the last sync with this root; nothing where it was another."""
        return self._fingerprints(root)[0]

    def _fingerprints(self, root: MemoryRoot) -> tuple[dict[str, Fingerprint], bool]:
        """`known_files`, and whether the store is sure to hold what files hold that look like this.

        It is not where there was something to warn of, which may be over without a change of the files, and
        where records are missing.
        """
        with self._reading() as connection:
            name, records, warnings = state_row(connection, "root, records, warnings")
            if name != root_name(root.path):
                return {}, False
            known = read_fingerprints(connection)
            return known, bool(known) and warnings == "[]" and records == count_records(connection)

    def _noted(self, report: SyncReport) -> SyncReport:
        self._words_gone |= bool(report.removed or report.changed)
        return report

    def _line(self, *, read_only: bool) -> _Line:
        self._lines.append(line := _Line(self.path, read_only))
        return line

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._reader.lock, translated(self.path), transaction(self._reader.connection, write=False):
            yield self._reader.connection

    @contextmanager
    def _writing(self, patience: float = BUSY_SECONDS) -> Iterator[sqlite3.Connection]:
        if self._writer is None:
            raise StoreError(self.why_read_only)
        connection = self._writer.connection
        with self._writer.lock, translated(self.path), patient_write(connection, self.path, patience):
            self.unfolded = True
            yield connection


# The counter and not the highest number there is: vectors are dropped, and a version only goes up.
_VERSION = """
    SELECT generation, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0), mark
    FROM state"""


def open_store(path: Path) -> MemoryStore:
    """The store, to be written to where that is allowed, else to be read only, with a warning.

    :raises StoreError: as `MemoryStore.open`.
    """
    try:
        return MemoryStore.open(path)
    except (DamagedStoreError, StoreVersionError):
        raise
    except StoreError as error:  # it may not be written to, or there is no room on the disk
        try:
            store = MemoryStore.open(path, read_only=True)
        except StoreError:
            raise error from None
        store.why_read_only = str(error)
        warnings.warn(f"{error}. It is read as it is; sync will fail", RuntimeWarning, stacklevel=3)
        return store


def default_store_path(root: Path, sources: Iterable[str] = ()) -> Path:
    """Where the store of a memory root belongs: the user's cache folder, or PI_RANK_CACHE_DIR.

    :param sources: those used instead of the ones that the root itself names.
    """
    resolved = root.expanduser().resolve()
    named = "\0".join([str(resolved), *sources])
    digest = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return stores_folder() / f"{slug(resolved.name)[:40]}-{digest}" / STORE_NAME
