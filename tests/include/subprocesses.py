"""Python code run in an interpreter of its own, where nothing has been imported yet."""

import os
import subprocess
import sys
from pathlib import Path

import ep

SOURCES = str(Path(ep.__file__).parents[1])


def run(code: str, *path: str) -> str:
    """Return what `code` prints; `path` goes in front of the module search path. Warnings are errors."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, SOURCES])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
