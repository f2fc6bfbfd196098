"""schemathesis over our own OpenAPI document: no 5xx, no hang, and no answer that the document does not
allow.

PI_RANK_FUZZ_SECONDS=600 runs the ten minutes of docs/recall.md; the suite runs half a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recall.served import running

SECONDS = int(os.environ.get("PI_RANK_FUZZ_SECONDS", "30"))
pytest.importorskip("schemathesis", reason="schemathesis is not installed")
pytestmark = pytest.mark.timeout(SECONDS + 120)
# To JSON Schema 2.0 is an integer, and to the contract's servers it is none. Unknown keys are ignored on
# purpose. A note that was just stored is gone when another one that says the same is taken back.
NOT_CHECKED = (
    "positive_data_acceptance,negative_data_rejection,missing_required_header,ensure_resource_availability"
)


def test_no_surprises(memory, tmp_path):
    with running(memory, "--rate", "0") as server:
        done = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"),
                "run",
                f"{server.url}/openapi.json",
                "--checks=all",
                f"--exclude-checks={NOT_CHECKED}",
                f"--max-time={SECONDS}",
                "--request-timeout=10",
                "--continue-on-failure",
                "--no-shrink",
                "--suppress-health-check=all",
            ],
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            timeout=SECONDS + 100,
        )
        assert done.returncode == 0, done.stdout[-8000:]
        assert server.ask("GET", "/health")[0] == 200
        assert server.ask("GET", "/metrics")[2].count('status="5') == 0
        assert server.stop() == ""
