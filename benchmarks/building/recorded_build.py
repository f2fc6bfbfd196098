"""Runs setup.py in the current folder, and prints as JSON what each module took. A program of its own.

`python recorded_build.py` prints `seconds` of CPU by module, to generate C++ and to compile and link it; the
sizes of both in `bytes`; and the CPU seconds of the `whole`, what setup.py does besides included.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

from Cython.Build import Dependencies
from setuptools.command.build_ext import build_ext

BUILT, TEMPORARY = "built", "temporary"
Seconds = dict[str, dict[str, float]]


def children() -> float:
    """CPU seconds of the programs that this one has waited for."""
    return os.times().children_user + os.times().children_system


def record(seconds: Seconds) -> None:
    """Has Cython and setuptools write down what each module takes, in a build that does one after another."""
    generate, compile_module = Dependencies.cythonize_one, build_ext.build_extension

    def timed_generate(source: str, *arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        result = generate(source, *arguments, **options)
        seconds.setdefault(Path(source).stem, {})["generate"] = time.process_time() - start
        return result

    def timed_compile(self: build_ext, extension: Any) -> None:
        start = children()
        compile_module(self, extension)
        seconds.setdefault(extension.name.rpartition(".")[2], {})["compile"] = children() - start

    Dependencies.cythonize_one = timed_generate
    build_ext.build_extension = timed_compile


def size(pattern: str) -> int:
    """Bytes of the one file that matches."""
    (found,) = Path().glob(pattern)
    return found.stat().st_size


def main() -> None:
    """Builds everything anew and prints what it took. What setuptools prints goes to stderr."""
    seconds: Seconds = {}
    record(seconds)
    answer = os.dup(1)
    os.dup2(2, 1)
    sys.argv = ["setup.py", "build_ext", "--force", "--parallel", "1"]
    sys.argv += ["--build-lib", BUILT, "--build-temp", TEMPORARY]
    runpy.run_path("setup.py", run_name="__main__")
    sys.stdout.flush()
    sizes = {
        name: {"cpp": size(f"build/cython/**/{name}.cpp"), "module": size(f"{BUILT}/**/{name}.*")}
        for name in seconds
    }
    whole = time.process_time() + children()
    os.write(answer, json.dumps({"seconds": seconds, "bytes": sizes, "whole": whole}).encode())


if __name__ == "__main__":
    main()
