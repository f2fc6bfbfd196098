"""onnxruntime without its telemetry: whoever imports it, or what may import it, comes here first."""

from __future__ import annotations

import importlib
import os
from typing import Any


def import_onnxruntime() -> Any:  # noqa: ANN401
    """The module, silenced. Raises ImportError where it is not installed or cannot be loaded."""
    silence_onnxruntime()
    return importlib.import_module("onnxruntime")


def silence_onnxruntime() -> None:
    """Switches off the telemetry of an onnxruntime imported later, whatever the environment says of it.

    Since 1.32 the import alone writes a device id and an event queue into the user's cache, and ten seconds
    later it looks up the host that gets them. Only this variable stops that, read at the import.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
