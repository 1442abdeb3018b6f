"""Python code that runs in a separate interpreter, in which nothing has been imported yet."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import ep
from tools.search_paths import extended

SOURCES = str(Path(ep.__file__).parents[1])

WARNINGS = "-W", "error", "-W", "ignore:This process (pid:DeprecationWarning"
"""Warnings are errors, but for Python's of forks of a process with threads, which are what some tests are about."""

LIMIT = 600
"""The seconds after which a process that a test waits for is taken for one that waits for ever."""


def run(code: str, *path: str, fails: bool = False, **environment: str) -> str:
    """Return the output of `code`, or its output on stderr if it `fails`.

    path: the first folders of the module search path; the sources follow, then the folders of the environment.
    environment: variables to set.
    Warnings are errors, and so is a process that does not end within LIMIT.
    """
    done = subprocess.run(
        command(code), env=environment_of(path, environment), capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


@contextmanager
def answering(code: str) -> Iterator[Callable[[str], str]]:
    """Yield a function that sends a line to `code` and returns the line that it prints next; then close its input."""
    process = subprocess.Popen(
        command(code), env=environment_of((), {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def answer(line: str) -> str:
        print(line, file=process.stdin, flush=True)
        return process.stdout.readline()

    with process:
        yield answer


def command(code: str) -> list[str]:
    """Return the command that runs `code` in an interpreter."""
    return [sys.executable, "-P", *WARNINGS, "-c", code]


def environment_of(path: Sequence[str], more: dict[str, str]) -> dict[str, str]:
    """Return the environment of such an interpreter; see `run`."""
    return {**os.environ, "PYTHONPATH": extended("PYTHONPATH", *path, SOURCES), **more}


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
