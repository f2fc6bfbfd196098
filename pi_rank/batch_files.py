"""Turns read from files and answers written to them, as JSON lines or Parquet, a few at a time.

An output file appears whole or not at all: answers go to `<output>.partial` as JSON lines, which becomes the
output when the last turn is answered, and from which an interrupted run can be resumed.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pi_rank.context import SessionContext, context_from_json
from pi_rank.errors import ConfigError, ContextError, PiRankError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

STANDARD = "-"
# Rows of a Parquet file that are in memory at a time.
ROW_GROUP = 1_000


class Turn(NamedTuple):
    """A turn and its number in the input: line or row, from 1."""

    number: int
    context: SessionContext


class BadTurn(NamedTuple):
    """A line or row that is no turn, and why."""

    number: int
    reason: str


def read_turns(source: str, after: int = 0) -> Iterator[Turn | BadTurn]:
    """The turns of a JSONL or Parquet file, or of stdin (`-`, JSONL), behind the first `after` of them.

    :raises ConfigError: the file's name has another ending, or Parquet is not installed.
    :raises OSError: the file cannot be read.
    """
    rows: Iterator[Any] = _json_lines(source)
    if _is_parquet(source):
        rows = _parquet_rows(Path(source))
    for number, row in enumerate(rows, 1):
        if number > after and row:
            yield _turn(number, row)


def count_turns(source: str) -> int | None:
    """How many turns there are to read; None where only reading them would tell."""
    if source == STANDARD:
        return None
    if _is_parquet(source):
        return int(_pyarrow().parquet.ParquetFile(source).metadata.num_rows)
    with Path(source).open("rb") as file:
        return sum(1 for line in file if line.strip())


def _turn(number: int, row: bytes | dict[str, Any]) -> Turn | BadTurn:
    try:
        value = msgspec.json.decode(row) if isinstance(row, bytes) else row
        return Turn(number, context_from_json(value))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BadTurn(number, f"not JSON: {error}")
    except ContextError as error:
        return BadTurn(number, str(error))


def _json_lines(source: str) -> Iterator[bytes]:
    if source == STANDARD:
        yield from _stripped(sys.stdin.buffer)
    else:
        with Path(source).open("rb") as file:
            yield from _stripped(file)


def _stripped(file: BinaryIO) -> Iterator[bytes]:
    for number, line in enumerate(file):
        yield (line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line).strip()


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    for batch in _pyarrow().parquet.ParquetFile(path).iter_batches(ROW_GROUP):
        for row in batch.to_pylist():
            yield {name: value for name, value in row.items() if value is not None}


class AnswerFile:
    """Takes answers in order; made by `open_answers`. `answered` is the number of the last turn it has."""

    def __init__(self, file: BinaryIO, answered: int) -> None:
        self.answered = answered
        self._file = file

    def write(self, number: int, answer: dict[str, Any]) -> None:
        """Appends the answer of a turn."""
        self._file.write(msgspec.json.encode({"turn": number, **answer}) + b"\n")
        self.answered = number


@contextmanager
def open_answers(target: str, *, resume: bool) -> Iterator[AnswerFile]:
    """Where answers go: stdout (`-`, JSON lines), or a file that is put in place when the block ends well.

    :param resume: go on behind the answers that an interrupted run left in `<target>.partial`.
    :raises ConfigError: stdout cannot be resumed; the file's name has another ending.
    """
    if target == STANDARD:
        if resume:
            raise ConfigError("--resume needs an output file: give one with -o")
        yield AnswerFile(sys.stdout.buffer, 0)
        return
    path, parquet = Path(target), _is_parquet(target)
    partial = path.with_name(f"{path.name}.partial")
    answered = _cut_after_last_answer(partial) if resume and partial.exists() else 0
    with partial.open("ab" if answered else "wb") as file:
        yield AnswerFile(file, answered)
        file.flush()
        os.fsync(file.fileno())
    if parquet:
        _write_parquet(partial, path)
        partial.unlink()
    else:
        partial.replace(path)


def _cut_after_last_answer(partial: Path) -> int:
    """Drops a torn line at the end; the number of the last whole answer."""
    answered, end = 0, 0
    with partial.open("r+b") as file:
        for line in file:
            try:
                answered = msgspec.json.decode(line, type=_Numbered).turn
            except msgspec.DecodeError:
                break
            end += len(line)
        file.truncate(end)
    return answered


class _Numbered(msgspec.Struct):
    turn: int


def _write_parquet(lines: Path, path: Path) -> None:
    """Nested values are columns of JSON text: their shape differs from turn to turn."""
    arrow = _pyarrow()
    columns = [("turn", arrow.int64()), ("markdown", arrow.string()), ("bytes", arrow.int64())]
    columns += [("mode", arrow.string())]
    columns += [(name, arrow.string()) for name in ("selected", "hard_rules", "contested")]
    columns += [(name, arrow.string()) for name in ("traces", "stats", "timings_ms")]
    schema = arrow.schema(columns)
    unfinished = path.with_name(f"{path.name}.unfinished")
    with arrow.parquet.ParquetWriter(unfinished, schema) as writer, lines.open("rb") as file:
        rows: list[dict[str, Any]] = []
        for line in file:
            answer = msgspec.json.decode(line)
            rows.append({name: _flat(answer.get(name)) for name in schema.names})
            if len(rows) == ROW_GROUP:
                writer.write_table(arrow.Table.from_pylist(rows, schema))
                rows.clear()
        writer.write_table(arrow.Table.from_pylist(rows, schema))
    unfinished.replace(path)


def _flat(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else value


def _is_parquet(name: str) -> bool:
    suffix = Path(name).suffix.lower()
    if name == STANDARD or suffix in (".jsonl", ".ndjson"):
        return False
    if suffix == ".parquet":
        return True
    raise ConfigError(f"{name}: turns and answers are .jsonl, .ndjson or .parquet files, or - for JSON lines")


def _pyarrow() -> Any:  # noqa: ANN401
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise PiRankError("Parquet files need pyarrow: pip install 'pi-rank[parquet]'") from error
    return pyarrow
