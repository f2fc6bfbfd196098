"""A participant that is a command: context and prompt go to its standard input, its output is the answer."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pi_rank.errors import ConfigError
from pi_rank.recall.participants.participants import ParticipantHealth, TurnResult, turn_result
from pi_rank.recall.participants.quoting import quote_field

DEFAULT_SECONDS = 600.0
MAX_OUTPUT_BYTES = 1_048_576
MAX_ERROR_BYTES = 16_384
MAX_REASON = 200
REAP_SECONDS = 5.0  # a killed process is gone at once, unless the system holds it
_CHANNEL = "headless"


class CommandParticipant:
    """Runs a command for each turn. No shell is involved, and nothing of a turn is on its command line.

    :param command: the program and its arguments.
    :param timeout: seconds for a turn; the command and what it started are then ended.
    :raises ConfigError: an argument is not usable.
    """

    def __init__(
        self,
        identity: str,
        command: Sequence[str],
        *,
        timeout: float = DEFAULT_SECONDS,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        if not identity.strip() or not command or not command[0]:
            raise ConfigError("a participant needs a name and a command")
        if not timeout > 0 or max_output_bytes < 1:
            raise ConfigError("a participant's timeout and output limit must be above 0")
        self._identity = identity
        self._command = tuple(command)
        self._timeout = timeout
        self._max_output = max_output_bytes

    @property
    def identity(self) -> str:
        """Its name."""
        return self._identity

    @property
    def channel(self) -> str:
        """`headless`."""
        return _CHANNEL

    def health(self) -> ParticipantHealth:
        """Whether the command can be found."""
        found = shutil.which(self._command[0]) is not None
        return ParticipantHealth(
            self._identity, _CHANNEL, found, "ready" if found else "the command was not found"
        )

    async def take_turn(self, request: Any) -> TurnResult:  # noqa: ANN401
        """The command's answer; what goes wrong with it is an error result. Cancelling ends the command."""
        said = f"{request.context}\n\n{request.prompt}" if request.context else request.prompt
        try:
            process = await self._start()
        except OSError as error:
            return self._failed(request, f"the command cannot be run: {error.strerror or 'unknown'}")
        try:
            code, output, errors = await asyncio.wait_for(self._run(process, said), self._timeout)
        except asyncio.TimeoutError:
            return self._failed(request, f"no answer within {self._timeout:g} seconds")
        except _TooMuchError:
            return self._failed(request, f"the answer is longer than {self._max_output} bytes")
        finally:
            await _end(process)
        if code != 0:
            last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
            return self._failed(
                request, quote_field(f"exit code {code}: {last}".removesuffix(": "), MAX_REASON)
            )
        answer = output.decode("utf-8", "replace").strip()
        if not answer:
            return turn_result(
                self._identity, _CHANNEL, request, abstained=True, reason="the command said nothing"
            )
        return turn_result(self._identity, _CHANNEL, request, answer=answer)

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        # A session of its own, so that what the command starts can be ended with it.
        return await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=os.name == "posix"
        )

    async def _run(self, process: asyncio.subprocess.Process, said: str) -> tuple[int, bytes, bytes]:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        tasks = [
            asyncio.ensure_future(_feed(process.stdin, said.encode("utf-8", "replace"))),
            asyncio.ensure_future(_tail(process.stderr)),
            asyncio.ensure_future(_collect(process.stdout, self._max_output)),
        ]
        try:
            _, errors, output = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return await process.wait(), output or b"", errors or b""

    def _failed(self, request: Any, reason: str) -> TurnResult:  # noqa: ANN401
        return turn_result(self._identity, _CHANNEL, request, is_error=True, reason=reason)


class _TooMuchError(Exception):
    """The command says more than it may."""


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is told
        stdin.write(data)
        await stdin.drain()
        stdin.close()


async def _collect(stream: asyncio.StreamReader, limit: int) -> bytes:
    data = bytearray()
    while chunk := await stream.read(65_536):
        data += chunk
        if len(data) > limit:
            raise _TooMuchError
    return bytes(data)


async def _tail(stream: asyncio.StreamReader) -> bytes:
    data = b""
    while chunk := await stream.read(65_536):
        data = (data + chunk)[-MAX_ERROR_BYTES:]
    return data


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command, if it runs yet, and whatever it has left running, and close its pipes."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
    # The only way to pipes that a process of another session may yet hold open.
    process._transport.close()  # type: ignore[attr-defined]
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), REAP_SECONDS)
