"""uvicorn's server, ended by a signal as by any other end: what is open is closed, and the exit code is 0."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class StoppableServer(uvicorn.Server):
    """Stops gracefully at SIGINT or SIGTERM, at once at a second SIGINT.

    uvicorn's own raises the signal again once it has stopped, which would end the process before the notes
    are closed.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals while serving."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self.handle_exit) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)
