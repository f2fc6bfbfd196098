"""Declares the compiled core: every ext/*.pyx becomes pi_rank._core.<name>. The rest is in pyproject.toml."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup

# Portable on purpose: no -march=native, so that a wheel built here runs on any processor of its architecture.
# Kernels that gain from wider vectors choose at run time (see ext/kernels/).
COMPILE_ARGS = (
    ["/O2", "/W3", "/std:c++17"]
    if sys.platform == "win32"
    # -g0: Python's own flags ask for debug information, which is a third of the compile time and nine tenths
    # of a module's size.
    else ["-O3", "-g0", "-std=c++17", "-Wall", "-Wextra", "-Wno-unused-function", "-Wno-cast-function-type"]
)
# A multiplication joined with an addition rounds once instead of twice: kernels would not agree to the bit.
# The vector kernels' products are exact, so that joining changes nothing but the time.
SEPARATE = [] if sys.platform == "win32" else ["-ffp-contract=off"]
JOINED = {"vectors"}
SANITIZE = os.environ.get("PI_RANK_SANITIZE")  # "address,undefined": see CONTRIBUTING.md
EXTRA = [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"] if SANITIZE else []

GENERATED = Path("build/cython")
SOURCES = sorted(Path("ext").glob("*.pyx"))
HEADERS = [
    header.as_posix()
    for folder in ("ext/kernels", "ext/encoder", "ext/unigram", "ext/wordpiece", "pi_rank/_core")
    for pattern in ("*.hpp", "*.inc", "*.pxd")
    for header in sorted(Path(folder).glob(pattern))
]

# cythonize sees that a module's own declarations changed only where they lie beside its source.
for source in SOURCES:
    declarations = Path("pi_rank/_core", source.name).with_suffix(".pxd")
    generated = (GENERATED / source).with_suffix(".cpp")
    files = [declarations, generated]
    if all(file.exists() for file in files) and max(files, key=os.path.getmtime) is declarations:
        generated.unlink()

extensions = [
    Extension(
        f"pi_rank._core.{source.stem}",
        [source.as_posix()],
        include_dirs=["ext", numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=COMPILE_ARGS + ([] if source.stem in JOINED else SEPARATE) + EXTRA,
        extra_link_args=EXTRA,
        depends=HEADERS,
        language="c++",
    )
    for source in SOURCES
]

setup(
    packages=[*find_packages(include=["pi_rank*"]), "pi_rank.models"],
    package_dir={"pi_rank.models": "models"},
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        extensions,
        build_dir=GENERATED.as_posix(),
        include_path=["ext/kernels", "."],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "initializedcheck": False,
            "cdivision": True,
            "embedsignature": True,
            "binding": False,  # built-in functions: less code; vectors calls its own more slowly so
            "auto_pickle": False,  # nothing here can be pickled
        },
    ),
)
