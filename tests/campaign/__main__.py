"""Knocks at every door for so long, and says what fell.

    python -m tests.campaign --minutes 60
    python -m tests.campaign --minutes 1 --door notes --door histories --seed 7

Exit code 0 where nothing was found, 1 where something was, 130 where it was interrupted. A fault's case is
reduced and written to the corpus, which `python -m pytest tests/campaign` replays.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from tests.campaign.corpus import FOLDER
from tests.campaign.registry import DOORS
from tests.campaign.runner import Campaign


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--seed", default="", help="repeat a run (default: one of its own, which is printed)")
    parser.add_argument(
        "--door", action="append", choices=sorted(DOORS), help="only this one; may be repeated"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes at work at once (default 2)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--keep-nothing", action="store_true", help="write no case to the corpus")
    options = parser.parse_args(argv)
    seed = options.seed or format(int(time.time()) & 0xFFFFFF, "x")
    campaign = Campaign(
        options.door or list(DOORS),
        seed=seed,
        corpus=None if options.keep_nothing else FOLDER,
        workers=options.workers,
        on_progress=_progress(options),
    )
    interrupted = False
    try:
        campaign.run(60 * options.minutes)
    except KeyboardInterrupt:
        interrupted = True
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(_as_json(campaign) if options.json else _as_table(campaign))
    return 130 if interrupted else int(bool(campaign.faults))


def _progress(options):
    """A line that is written over: for a terminal only."""
    began = time.monotonic()

    def show(campaign):
        if sys.stderr.isatty():
            inputs = sum(tally.inputs for tally in campaign.tallies.values())
            done = (time.monotonic() - began) / 60
            line = f"{done:.1f} of {options.minutes:g} min, {inputs:,} inputs, {len(campaign.faults)} faults"
            print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)

    return show


def _as_table(campaign):
    head = f"{'door':<16}{'cases':>9}{'inputs':>12}{'seconds':>9}{'faults':>8}  counted besides"
    lines = [f"seed {campaign.seed}", head]
    for name, tally in campaign.tallies.items():
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(tally.counts.items()))
        besides = f"skipped: {tally.skipped}" if tally.skipped else counts
        cases, inputs, faults = tally.cases, tally.inputs, len(tally.faults)
        lines.append(
            f"{name:<16}{cases:>9,}{inputs:>12,}{tally.seconds:>9.0f}{faults:>8}  {besides}".rstrip()
        )
    inputs = sum(tally.inputs for tally in campaign.tallies.values())
    lines.append(f"{inputs:,} inputs, {len(campaign.faults)} faults")
    for fault in campaign.faults:
        place = f" ({fault.path.name})" if fault.path else ""
        lines += ["", f"{fault.door}, seed {fault.seed}: {fault.kind}{place}", *_end(fault.detail)]
    return "\n".join(lines)


def _end(detail):
    """The last lines of a detail, which say what was raised, or seen."""
    return [f"    {line[:200]}" for line in detail.strip().splitlines()[-4:]]


def _as_json(campaign):
    doors = {
        name: {
            "cases": tally.cases,
            "inputs": tally.inputs,
            "seconds": round(tally.seconds, 1),
            "counts": dict(tally.counts),
            "skipped": tally.skipped,
            "faults": [
                {
                    "kind": fault.kind,
                    "detail": fault.detail,
                    "seed": fault.seed,
                    "case": fault.path and fault.path.name,
                }
                for fault in tally.faults
            ],
        }
        for name, tally in campaign.tallies.items()
    }
    return json.dumps({"seed": campaign.seed, "doors": doors}, indent=2)


if __name__ == "__main__":
    raise SystemExit(main())
