"""The plain reading of a root's records: each line of each file in turn."""

from __future__ import annotations

from pi_rank.errors import RecordError
from pi_rank.memory.contents import Skipped, SourcedRecord
from pi_rank.memory.records import decode_record


def plain_records(files):
    """The records of `RootFiles`, and what is not used, as a loop over all lines finds them."""
    records, skipped = {}, []
    for name, data, layer, project, _ in files.records:
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                record = decode_record(line.strip(), layer=layer, project=project)
            except RecordError as error:
                skipped.append(Skipped(name, number, str(error)))
                continue
            earlier = records.pop(record.id, None)
            records[record.id] = SourcedRecord(record, name, number)
            if earlier is not None:
                reason = f"duplicate id {record.id!r}: the later record at {name}:{number} is used"
                skipped.append(Skipped(earlier.file, earlier.line, reason))
    return list(records.values()), skipped
