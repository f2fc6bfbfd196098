"""`install-shim`: writes the small executable `qmd` for programs that call qmd by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pi_rank.files.private import replace_private
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.errors import QmdError

MARK = "# pi-rank qmd shim"
SHEBANG_BYTES = 127  # the kernel reads no more of a first line
_PROGRAM = """\
{first}
{mark}: `pi-rank qmd install-shim DIR` wrote this, and `--uninstall` removes it.
import sys
folders = {folders!r}
sys.path.insert(0, {launcher!r})
try:
    import launcher
except ModuleNotFoundError:
    sys.exit("qmd: pi-rank has moved; run `pi-rank qmd install-shim` again, or remove " + __file__)
del sys.path[0]
code = launcher.from_daemon(sys.argv[1:])
if code is None:
    sys.path[:0] = folders
    from pi_rank.qmd.command import main
    code = main(sys.argv[1:])
sys.stdout.flush()
sys.exit(code)
"""


def run_install(call: Call) -> int:
    """Write or remove the executable `qmd` in a folder. A file that is not ours is left alone."""
    if len(call.words) != 1:
        raise QmdError("Usage: pi-rank qmd install-shim DIR [--uninstall]")
    if os.name != "posix":
        raise QmdError("The shim is for systems with a POSIX shell; call `pi-rank qmd` here.")
    folder = call.absolute(call.words[0])
    path = folder / "qmd"
    if os.path.lexists(path) and not _is_ours(path):
        raise QmdError(
            f"{path} is there and was not written by pi-rank; it is left as it is. Choose another folder."
        )
    if call.has("uninstall"):
        path.unlink(missing_ok=True)
        call.line(f"Removed {path}")
        return 0
    _write(folder, path)
    call.line(f"Installed {path}")
    if str(folder) not in call.environment.get("PATH", "").split(os.pathsep)[:1]:
        call.line(f'Put it first on your PATH: export PATH="{folder}:$PATH"')
    return 0


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as stream:
        return MARK.encode() in stream.read(1024)


def _write(folder: Path, path: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_private(path, program(sys.executable).encode(), 0o755)
    except OSError as error:
        raise QmdError(f"{path} cannot be written: {error.strerror}") from None


def program(python: str) -> str:
    """The executable's text.

    It runs without `site`, which costs more than a warm answer, and is told the folders.
    """
    own = Path(__file__).resolve().parents[1]  # where launcher.py lies
    package_folder = str(own.parents[1])
    installed = [folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")]
    folders = list(dict.fromkeys([package_folder, *installed]))
    first = f"#!{python} -IS"
    if len(os.fsencode(first)) > SHEBANG_BYTES or any(map(str.isspace, python)):
        # Read by sh, the second line starts Python; read by Python, it is a string.
        first = f"#!/bin/sh\n''''exec '{python}' -I -S \"$0\" \"$@\" #'''"
    return _PROGRAM.format(first=first, mark=MARK, folders=folders, launcher=str(own))
