"""What was measured on: processor, cores, memory, versions. Nothing that names the machine."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib import metadata
from pathlib import Path

import psutil

from pi_rank import __version__
from pi_rank._core.vectors import kernels

PACKAGES = (
    "pi-rank",
    "numpy",
    "hnswlib",
    "onnxruntime",
    "bm25s",
    "numba",
    "tantivy",
    "ranx",
    "pyahocorasick",
)


def description() -> dict[str, str]:
    """Facts by name, in the order to show them."""
    gigabytes = psutil.virtual_memory().total / 2**30
    return {
        "processor": f"{_processor()}, {_cores()} cores, vector kernels: {', '.join(kernels())}",
        "memory": f"{gigabytes:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "load before": _load(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "pi_rank": __version__,
        "SQLite": sqlite3.sqlite_version,
        **{name: version for name in PACKAGES if (version := _version(name))},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load() -> str:
    """Programs that were running on average in the last minute: a figure above the cores spoils timings."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
