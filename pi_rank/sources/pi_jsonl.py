"""PI's own records, one a line, in a file that is in no root: what `pi-rank export` writes."""

from __future__ import annotations

from pi_rank.errors import RecordError
from pi_rank.memory.records import decode_object
from pi_rank.memory.sources.protocol import SourceLine
from pi_rank.sources.files import MOST_DATA_BYTES, FileSource, Reading


class PiJsonl(FileSource):
    """One such file. Records keep their ids."""

    of_one_file = True

    def collect(self, reading: Reading) -> None:
        text = reading.text(next(self.candidates()), MOST_DATA_BYTES)
        if text is None:
            return
        records, skipped = [], []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    records.append(SourceLine(number, decode_object(line.strip().encode())))
                except RecordError as error:
                    skipped.append((number, str(error)))
        reading.add(self.base, records, skipped)
