"""The test suite on the device, in a process of its own."""

from __future__ import annotations

import os
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
"""Seconds for pytest to print what it found when it is interrupted."""
_MOST_WORKERS: Final = 8


def command() -> list[str]:
    """The test run; on several processors where pytest-xdist is installed, for most of it is compilation."""
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    parallel = ["-n", str(workers)] if workers > 1 and find_spec("xdist") else []
    return [sys.executable, "-m", "pytest", "tests", "--device", "cuda", "-q", *parallel]


def run(seconds: float, given: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the tests for so many seconds at most: exit code (None where the time was over), last lines, seconds."""
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
    return {
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
