"""Coverage-guided fuzzing of one compiled routine, by atheris where it is installed.

    python -m tests.campaign.core negative_scope -max_total_time=60

Guided by the branches of the plain reference, which is what it can see of a routine: an input that takes a
new way through it is kept, and taken further. After the routine's name come libFuzzer's options. Without
atheris the campaign's door `core` draws bytes at random, and `test_core.py` has hypothesis do so.
"""

from __future__ import annotations

import sys

from tests.campaign.core.feed import Feed


def main():
    try:
        import atheris
    except ImportError:
        return "atheris is not installed: pip install atheris, or python -m tests.campaign --door core"
    with atheris.instrument_imports(include=["tests.reference"]):
        from tests.campaign.core.targets import TARGETS
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        return f"name one of {', '.join(TARGETS)}"
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: target(Feed(data)))
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
