"""The first milliseconds of every command: ask the warm process, and import the rest only where it does not
answer.

It is the entry point of `pi-rank`, and runs as a file too, `python -I -S launch.py WORDS`, where a hook
stands:
without `site`, which costs as much as a warm answer. Until there is no answer, it imports nothing that the
interpreter has not loaded by itself, `_socket` and the protocol's one module aside.
"""

from __future__ import annotations

import sys
import time


def main() -> int:
    """Run the command of `sys.argv`, and return its exit code."""
    began = time.monotonic() - _age()
    words = sys.argv[1:]
    if sys.flags.no_site:
        sys.path.append(_own_folder())
    from pi_rank.daemon import client

    if words and words[0] in client.SERVED:
        try:
            answered = client.answer(words, began)
        except KeyboardInterrupt:
            sys.stderr.write("pi-rank: interrupted\n")
            return 0 if words[0] == "hook" else client.INTERRUPTED
        if answered is not None:
            return answered
    if sys.flags.no_site:
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


def _own_folder() -> str:
    """The folder that holds the package."""
    return __file__.replace("\\", "/").rpartition("/")[0].rpartition("/")[0] or "/"


def _find_packages() -> None:
    """What `python -S` leaves out: the folders of installed packages, last of all the package's own."""
    import site

    own = _own_folder()
    sys.path.remove(own)
    site.main()
    if own == site.getusersitepackages():  # -I leaves out what a user installed for himself
        site.addsitedir(own)
    if own not in sys.path:
        sys.path.append(own)


if __name__ == "__main__":
    sys.exit(main())
