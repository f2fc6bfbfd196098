"""The first milliseconds of every command: how old the process is, and what is needed to import the rest.

It is the entry point of `pi-rank`, and runs as a file too, `python -I -S launch.py WORDS`, where a hook
stands:
without `site`, which costs as much as a warm answer. It imports nothing that the interpreter has not loaded
by itself.
"""

from __future__ import annotations

import sys
import time


def main() -> int:
    """Run the command of `sys.argv`, and return its exit code."""
    began = time.monotonic() - _age()
    _find_packages()
    from pi_rank.cli.program import main as run

    return run(began=began)


def _age() -> float:
    """Seconds since this process was started, to a hundredth; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as stream:  # noqa: PTH123 - pathlib costs more than all of this
            started = int(stream.read().rpartition(b")")[2].split()[19])
        import posix

        ticks = posix.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started / ticks)
    except (ImportError, AttributeError, OSError, ValueError, IndexError):
        return 0.0


def _find_packages() -> None:
    """What `python -S` leaves out: the folders of installed packages, and this package's own."""
    if not sys.flags.no_site:
        return
    import site

    site.main()
    own = __file__.rpartition("pi_rank")[0].rstrip("/\\")
    if own == site.getusersitepackages():  # -I leaves out what a user installed for himself
        site.addsitedir(own)
    if own not in sys.path:
        sys.path.append(own)


if __name__ == "__main__":
    sys.exit(main())
