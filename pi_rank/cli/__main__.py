"""`python -m pi_rank.cli`, for machines where the script folder is not on the path."""

from __future__ import annotations

import sys

from pi_rank.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
