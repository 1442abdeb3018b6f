"""Python code run in an interpreter of its own, where nothing has been imported yet."""

import os
import subprocess
import sys
from pathlib import Path

import ep

SOURCES = str(Path(ep.__file__).parents[1])


def run(code: str, *path: str, fails: bool = False, **environment: str) -> str:
    """Return what `code` prints, or what it prints to stderr where it `fails`.

    path: goes in front of the module search path, then the sources, then what the environment has.
    environment: variables to set.
    Warnings are errors.
    """
    inherited = [part for part in [os.environ.get("PYTHONPATH")] if part]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, SOURCES, *inherited]), **environment}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code], env=variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def read_terminal(ours: int) -> str:
    """Return what is printed to a pseudo-terminal until its other end is closed, and close this end."""
    printed = b""
    try:
        while chunk := os.read(ours, 4096):
            printed += chunk
    except OSError:  # how Linux reports that the other end was closed
        pass
    os.close(ours)
    return printed.decode()
