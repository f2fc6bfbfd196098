"""The client's side of the warm process: a request, and an answer written as if it had been found here.

It imports nothing that the interpreter has not loaded by itself but `_socket`. A request carries what an
answer may
depend on: arguments, environment, umask, standard input, and the working directory as an open descriptor, so
that it is that folder and no other of its name.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping

# Commands that are answered. Others write, talk to a terminal, or live long themselves.
SERVED = ("context", "search", "batch", "hook", "qmd")
PROTOCOL = b"pi-rank-daemon 1\n"
BEGUN, ELSEWHERE = b"+", b"-"  # the first byte of an answer: the work is begun, or left to the client
NUMBER_BYTES = 8
MAX_SOCKET_PATH = 100  # bytes; the kernel's limit is 108, or 104 on macOS
MAX_STDIN_BYTES = 32 << 20
CONNECT_SECONDS = 0.3  # for a daemon to begin; then the work is done here
INTERRUPTED = 130  # what a shell reports for a program that was interrupted
PIPE_CLOSED = 141  # what a shell reports for a program whose reader went away
OFF = "PI_RANK_DAEMON"


def answer(words: list[str], began: float) -> int | None:
    """Print the daemon's answer and return its exit code; None where there is none, and nothing was printed.

    :param began: when this process began, on the clock of `time.monotonic`.
    """
    try:
        import posix
    except ImportError:  # no Unix sockets here
        return None
    environment = {
        key.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for key, value in posix.environ.items()
    }
    path = socket_path(environment)
    if environment.get(OFF) == "off" or "--no-daemon" in words or path is None:
        return None
    line = _connected(path)
    if line is None:
        return None
    until = began + _deadline(words) if words[0] == "hook" else None
    try:
        reply = _asked(line, _request(words, environment, began), until)
    except OSError:
        reply = None
    finally:
        line.close()
    if reply is None:
        late = until is not None and time.monotonic() >= until
        return 0 if late else None  # what is late is left out
    code, out, err = reply
    try:
        for descriptor, data in ((2, err), (1, out)):
            while data:
                data = data[posix.write(descriptor, data) :]
    except BrokenPipeError:
        posix._exit(PIPE_CLOSED if until is None else 0)
    return code if until is None else 0


def socket_path(environment: Mapping[str, str]) -> str | None:
    """The socket of this installation for the user of this environment; None where it can have none."""
    cache = environment.get("PI_RANK_CACHE_DIR")
    if not cache:
        home = environment.get("HOME")
        if not home:
            return None
        base = environment.get("XDG_CACHE_HOME", "").strip()
        if sys.platform == "darwin":
            base = base or f"{home}/Library/Caches"
        cache = f"{base or f'{home}/.cache'}/pi-rank"
    if not cache.startswith("/"):
        return None
    path = f"{cache}/daemon/{_installation()}.sock"
    return path if len(path.encode("utf-8", "surrogateescape")) <= MAX_SOCKET_PATH else None


def _installation() -> str:
    """A name for this package's place: two installations have a daemon each.

    And never answer for each other.
    """
    number = 0xCBF29CE484222325  # FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
    for byte in __file__.encode("utf-8", "surrogateescape"):
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}"


def _connected(path: str) -> _socket.socket | None:
    """A line to a daemon of this user."""
    import _socket

    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(CONNECT_SECONDS)
        line.connect(path)
        if is_same_user(line, path):
            return line
    except OSError:
        pass  # nobody listens there, which is the usual case without a daemon
    line.close()
    return None


def is_same_user(line: _socket.socket, path: str) -> bool:
    """Whether the other end is a process of this user: anybody can make a socket in a folder of many."""
    import _socket
    import posix

    if hasattr(_socket, "SO_PEERCRED"):
        peer = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # PID, user, group
        return int.from_bytes(peer[4:8], sys.byteorder) == posix.geteuid()
    return posix.stat(path, follow_symlinks=False).st_uid == posix.geteuid()


def _stdin(words: list[str]) -> bytes:
    """What the command would read, where it reads at all."""
    if words[0] == "qmd" or (words[0] != "hook" and "-" not in words[1:]):
        return b""
    if sys.stdin.isatty():
        raise OSError("a terminal is read where its user is told to type")
    data = sys.stdin.buffer.read(MAX_STDIN_BYTES)
    # Whoever does the work here after all reads it once more.
    import io

    whole = data if len(data) < MAX_STDIN_BYTES else data + sys.stdin.buffer.read()
    sys.stdin = io.TextIOWrapper(io.BytesIO(whole), encoding="utf-8")
    if len(whole) >= MAX_STDIN_BYTES:
        raise OSError("too much to hand over")
    return data


def _deadline(words: list[str]) -> float:
    """Seconds that a hook may take, from the beginning of its process."""
    for at, word in enumerate(words):
        value = word[14:] if word.startswith("--deadline-ms=") else ""
        if word == "--deadline-ms" and at + 1 < len(words):
            value = words[at + 1]
        if value:
            try:
                return float(value) / 1000
            except ValueError:
                return 0.8
    return 0.8


def _request(words: list[str], environment: Mapping[str, str], began: float) -> bytes:
    import posix

    stdin = _stdin(words)
    mask = posix.umask(0)
    posix.umask(mask)
    terminals = "".join("1" if stream.isatty() else "0" for stream in (sys.stdout, sys.stderr))
    fields = [str(mask), repr(began), terminals, str(len(environment))]
    fields += [f"{key}={value}" for key, value in environment.items()]
    head = "\0".join([*fields, *words]).encode("utf-8", "surrogateescape")
    return PROTOCOL + len(head).to_bytes(NUMBER_BYTES, "big") + head + stdin


def _asked(line: _socket.socket, request: bytes, until: float | None) -> tuple[int, bytes, bytes] | None:
    """(exit code, stdout, stderr); None where the daemon leaves it to the client, or is late."""
    import _socket
    import posix

    folder = posix.open(".", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, folder.to_bytes(4, sys.byteorder))
        sent = line.sendmsg([request], [rights])
    finally:
        posix.close(folder)
    line.sendall(request[sent:])
    line.shutdown(_socket.SHUT_WR)
    if line.recv(1) != BEGUN:
        return None
    parts: list[bytes] = []
    while True:
        # An answer that is being worked out takes as long as it would here; a hook's has an end.
        line.settimeout(None if until is None else max(0.001, until - time.monotonic()))
        part = line.recv(1 << 16)
        if not part:
            return _parsed(b"".join(parts))
        parts.append(part)


def _parsed(data: bytes) -> tuple[int, bytes, bytes] | None:
    code, out, err = (
        int.from_bytes(data[at : at + NUMBER_BYTES], "big") for at in (0, NUMBER_BYTES, 2 * NUMBER_BYTES)
    )
    body = data[3 * NUMBER_BYTES :]
    if len(data) < 3 * NUMBER_BYTES or len(body) != out + err:
        return None  # it died on the way
    return code, body[:out], body[out:]
