"""The test suite on the device, in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).resolve().parents[2]
_LAST_LINES: Final = 25
_GRACE: Final = 10.0
"""Seconds for pytest to print its findings when it is interrupted."""
_MOST_WORKERS: Final = 8
_FIRST: Final = ("tests/cuda", "ep/testing/device_layer", "ep/testing/primitive", "tests/ops")
"""The tests that need the device most, in case the time is not enough for all."""


def command() -> list[str]:
    """Return the command `pytest --ep-device cuda`, parallel if pytest-xdist is installed: it mostly compiles."""
    folders = (_ROOT / "tests", _ROOT / "ep" / "testing")
    there = {folder / path.relative_to(folder).parts[0] for folder in folders for path in folder.rglob("test_*.py")}
    names = (path.relative_to(_ROOT).as_posix() for path in there)
    paths = sorted(names, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    parallel = ["-n", str(workers)] if workers > 1 and find_spec("xdist") else []
    return [sys.executable, "-m", "pytest", *paths, "--ep-device", "cuda", "-q", *parallel]


def run(seconds: float, given: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the tests for a number of seconds at most.

    exit_code: None if they were stopped at the limit; `failed` says whether some had failed by then.
    """
    arguments = list(given or command())
    begin = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            arguments,
            cwd=_ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # so that its workers end with it
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    last = lines[-1] if lines else ""
    return {
        "failed": bool(code) or re.search(r"\d+ (failed|error)", last) is not None,
        "command": " ".join(arguments),
        "exit_code": code,
        "seconds": time.monotonic() - begin,
        "limit_seconds": seconds,
        "last_lines": lines[-_LAST_LINES:],
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    for number, wait in ((signal.SIGINT, _GRACE), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            continue
