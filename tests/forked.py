"""Python code that runs in forks of one interpreter: they need not import again what all of them need."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.subprocesses import LIMIT, command, environment_of

SERVE = """
import json, os, signal, sys
for line in sys.stdin:
    program, environment, *files = json.loads(line)
    child = os.fork()
    if child == 0:
        for place, file in enumerate([os.devnull, *files]):
            os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), place)
        os.environ.update(environment)
        signal.alarm(LIMIT)
        break
    _, status, used = os.wait4(child, 0)
    print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)
else:
    sys.exit()
exec(compile(program, "<forked>", "exec"), {"__name__": "__main__"})
"""

SECONDS: list[float] = []
"""The processor seconds of each fork that has ended; `os.times` has them when the interpreter ends."""


@pytest.fixture(scope="session")
def run_forked():
    """Yield a function that runs code in a process that has imported nothing of the package; see `forking`."""
    with forking("import ml_dtypes, numba, numpy") as run_forked:
        yield run_forked


@contextmanager
def forking(begin: str, *path: str, **environment: str) -> Iterator[Callable[..., str]]:
    """Yield a function that is like `run`, but runs its code in a fork of one interpreter, which has run `begin`.

    begin: starts no threads, and launches nothing.
    path, environment: as in `run`; the function takes more variables, which are set before its code runs.
    The function checks the exit code, and returns the output; with `merged=True`, also that on stderr. A fork that
    runs for longer than LIMIT ends with the code of SIGALRM.
    """
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork on this platform")
    process = subprocess.Popen(
        command(f"{begin}\nLIMIT = {LIMIT}\n{SERVE}"),
        env=environment_of(path, environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run_forked(program: str, *, code: int = 0, merged: bool = False, **more: str) -> str:
        with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as errors:
            files = [out.name, out.name if merged else errors.name]
            print(json.dumps([program, more, *files]), file=process.stdin, flush=True)
            ended, _, seconds = process.stdout.readline().partition(" ")
            SECONDS.append(float(seconds or 0))
            printed, failed = out.read(), errors.read()
        assert ended == str(code), f"{ended}\n{printed}{failed}"
        return printed

    with process:
        yield run_forked
