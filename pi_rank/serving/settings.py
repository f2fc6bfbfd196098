"""What a server is started with, whatever it serves: where it listens, who may ask, how much and how long."""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_rank.errors import ConfigError
from pi_rank.serving.token_file import checked_token, read_token

DEFAULT_HOST = "127.0.0.1"
DEFAULT_BODY_LIMIT = 1_048_576
# A panel of 20 seats makes 41 calls in two rounds with a moderator, and starts again at once.
DEFAULT_RATE, DEFAULT_BURST = 1_200, 120
# Whoever has no token gets REMANENTIA's own figures.
STRANGER_RATE, STRANGER_BURST = 60, 10


@dataclass(frozen=True)
class ServerSettings:
    """A server's settings, checked.

    :raises ConfigError: they do not fit together, or one is out of range.
    """

    host: str = DEFAULT_HOST
    port: int = 0
    token: Token | None = None
    require_auth: bool = False
    body_limit: int = DEFAULT_BODY_LIMIT
    rate: float = DEFAULT_RATE
    burst: int = DEFAULT_BURST
    allowed_hosts: tuple[str, ...] = ()
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    request_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.require_auth and self.token is None:
            raise ConfigError("--require-auth needs a token: give --token-file, or set PI_RANK_API_TOKEN")
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"refusing to serve on {self.host} without a token: give --token-file, or use 127.0.0.1"
            )
        if not 0 <= self.port <= 65_535:
            raise ConfigError(f"port must be from 0 to 65535, got {self.port}")
        if self.body_limit < 1 or self.rate < 0 or self.burst < 1:
            raise ConfigError("the body limit and the burst must be at least 1, and the rate at least 0")


class Token:
    """What callers must show. Read again where it comes from a file, so that it can change while we serve."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._read()  # a token that cannot be read is told of at the start

    @classmethod
    def of_file(cls, path: Path) -> Token:
        """The token in a file that `read_token` accepts."""
        return cls(lambda: read_token(path))

    def matches(self, shown: bytes) -> bool:
        """Whether a caller showed it, in a time that does not tell how much of it. No file, no match."""
        try:
            expected = self._read().encode()
        except ConfigError:
            return False
        return hmac.compare_digest(shown, expected)

    def __repr__(self) -> str:
        return "Token(…)"


def token_from(token_file: Path | None, environment: Mapping[str, str] = os.environ) -> Token | None:
    """The token of a file, else of the environment, else none.

    :raises ConfigError: there is one, and it is not usable.
    """
    if token_file is not None:
        return Token.of_file(token_file)
    value = variable("TOKEN", environment)
    if value is None:
        return None
    token = checked_token(value.encode("utf-8", "surrogateescape"))
    return Token(lambda: token)


def variable(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """PI_RANK_API_<name>, else REMANENTIA_API_<name>, else None; an empty one counts as none."""
    return environment.get(f"PI_RANK_API_{name}") or environment.get(f"REMANENTIA_API_{name}") or None


def is_loopback(host: str) -> bool:
    """Whether binding this host keeps others out."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
