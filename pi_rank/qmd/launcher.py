"""The first milliseconds of the `qmd` executable: ask the daemon. The shim goes on where it does not answer.

It imports nothing that the interpreter has not loaded by itself: a module costs more than a warm answer.
The reply is bounded, so that a daemon that hangs costs its caller `PATIENCE_SECONDS` and no more.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

MAGIC = b"pi-rank-qmd 1\n"  # the protocol's version; the daemon answers no other
HEAD_BYTES = 9  # of a reply: exit code, length of stdout, length of stderr
PIPE_CLOSED = 141  # what a shell reports for a program whose reader went away
TRY_ELSEWHERE = 255  # instead of an exit code: the daemon leaves this one to the caller
PATIENCE_SECONDS = 0.5
MAX_SOCKET_PATH = 100  # bytes; the kernel's limit is 108, or 104 on macOS
# Commands that the daemon answers. The others write, or talk to a terminal.
SERVED = ("search", "vsearch", "query", "get", "multi-get", "ls", "status")
# What of the environment decides where index and configuration are, and how an answer looks.
VARIABLES = (
    "HOME", "QMD_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "INDEX_PATH", "PI_RANK_QMD_MODE",
)  # fmt: skip


def index_stem(environment: dict[str, str], name: str) -> str:
    """The path of the index file without its ending: where qmd would keep its own, with a name of ours."""
    given = environment.get("INDEX_PATH")
    if given and name == "index":
        return given.removesuffix(".sqlite") + ".pi-rank"
    cache = environment.get("XDG_CACHE_HOME") or environment.get("HOME", "") + "/.cache"
    return f"{cache}/qmd/{name}.pi-rank"


def index_name(argv: list[str]) -> str:
    """The value of `--index`, by which one user keeps several indexes."""
    for at, word in enumerate(argv[:-1]):
        if word == "--index":
            return argv[at + 1]
    return "index"


def ask(path: str, request: bytes, patience: float = PATIENCE_SECONDS) -> tuple[int, bytes, bytes] | None:
    """The daemon's (exit code, stdout, stderr), or None: no daemon, another version, or too slow."""
    import _socket

    if len(path.encode("utf-8", "surrogateescape")) > MAX_SOCKET_PATH:
        return None
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(patience)
        line.connect(path)
        if not _is_own(line, path):
            return None
        line.sendall(request)
        line.shutdown(_socket.SHUT_WR)
        parts = []
        while part := line.recv(1 << 16):
            parts.append(part)
    except OSError:
        return None
    finally:
        line.close()
    return _reply(b"".join(parts))


def _is_own(line: _socket.socket, path: str) -> bool:
    """Whether this user's process listens, or root's: in a folder of many anybody can make a socket."""
    import _socket
    import posix

    if hasattr(_socket, "SO_PEERCRED"):
        peer = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # PID, user, group
        owner = int.from_bytes(peer[4:8], sys.byteorder)
    else:
        owner = posix.lstat(path).st_uid
    return owner in (posix.geteuid(), 0)


def _reply(data: bytes) -> tuple[int, bytes, bytes] | None:
    if not data.startswith(MAGIC):
        return None
    head, body = data[len(MAGIC) :][:HEAD_BYTES], data[len(MAGIC) + HEAD_BYTES :]
    out, err = int.from_bytes(head[1:5], "big"), int.from_bytes(head[5:9], "big")
    if len(head) < HEAD_BYTES or len(body) != out + err or head[0] == TRY_ELSEWHERE:
        return None
    return head[0], body[:out], body[out:]


def request_bytes(argv: list[str], directory: str, environment: dict[str, str]) -> bytes:
    """A request: the working directory, the variables that count, and the arguments, NUL between them."""
    known = [f"{name}={environment[name]}" for name in VARIABLES if name in environment]
    words = [directory, str(len(known)), *known, *argv]
    return MAGIC + "\0".join(words).encode("utf-8", "surrogateescape")


def from_daemon(argv: list[str], environment: dict[str, str] | None = None) -> int | None:
    """Answer from the daemon on stdout and stderr, and return the exit code; None where there was no answer.

    :param environment: None for the one that this process began with.
    """
    try:
        import posix
    except ImportError:  # no Unix sockets here
        return None
    if not any(word in SERVED for word in argv):
        return None
    if environment is None:
        environment = {
            key.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
            for key, value in posix.environ.items()
        }
    if environment.get("PI_RANK_QMD_DAEMON") == "off":
        return None
    path = index_stem(environment, index_name(argv)) + ".sock"
    try:
        directory = posix.getcwd()
    except OSError:  # removed: whatever the command makes of that, it does by itself
        return None
    reply = ask(path, request_bytes(argv, directory, environment))
    if reply is None:
        return None
    code, out, err = reply
    try:
        sys.stderr.buffer.write(err)
        sys.stdout.buffer.write(out)
        sys.stdout.flush()
    except BrokenPipeError:
        posix._exit(PIPE_CLOSED)  # the interpreter's own way out would complain about the pipe once more
    return code
