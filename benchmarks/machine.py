"""A description of the machine and the versions with which measurements are made."""

from __future__ import annotations

import ast
import datetime
import hashlib
import os
import platform
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks.instructions import HOST

_KERNELS: Final = ("ep/common", "ep/cpu")
_PACKAGES: Final = (
    *("ep", "numpy", "numba", "llvmlite", "ml_dtypes"),
    *("torch", "numexpr", "jax", "jaxlib", "onnxruntime", "openvino"),
)


def describe(threads: int, isa: str = HOST) -> dict[str, Any]:
    """Return machine, versions, date, threads, and the instructions to which libraries were limited."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "threads": threads,
        "isa": isa,
        "kernels": kernels(),
        "machine": {
            "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
            "processors": os.cpu_count(),
            "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "memory": _field("/proc/meminfo", "MemTotal"),
            "caches": _caches(),
            "system": platform.platform(),
        },
        "python": platform.python_version(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


@cache
def kernels() -> str:
    """Return a digest of the code of the CPU's kernels, without its comments and docstrings."""
    root, digest = Path(__file__).resolve().parents[1], hashlib.sha256()
    for folder in _KERNELS:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\n{_code(path.read_text(encoding='utf-8'))}\n".encode())
    return digest.hexdigest()[:16]


def _code(source: str) -> str:
    """Return the lines of a module that are code; unlike syntax trees, they do not depend on the version of Python."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return "\n".join(code for line in lines if (code := re.sub(r"(^|\s)#.*", "", line).rstrip()))


def _field(path: str, name: str) -> str:
    if not Path(path).exists():
        return ""
    fields = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in fields if key.strip() == name), "")


def _caches() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
