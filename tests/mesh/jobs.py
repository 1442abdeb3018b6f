"""Jobs of several ranks, started by mpiexec. One job makes many checks, as it takes a second to start one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.once import made_once
from tests.subprocesses import SOURCES
from tools.search_paths import extended

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    "EP_CPU_NUM_THREADS": "1",
    # if there are more ranks than cores, waiting ranks would keep the others from the cores
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
}
HANGS = 1800
"""Seconds after which a job counts as hanging, however busy the machine is."""


def job(ranks: int, *arguments: str, seconds: float = HANGS, **environment: str) -> tuple[int, str]:
    """Run Python with `arguments` on all ranks; return the exit code, and their stdout and stderr.

    Raises subprocess.TimeoutExpired after `seconds`.
    """
    program = Path(sys.executable).with_name("mpiexec")
    command = [str(program if program.exists() else shutil.which("mpiexec") or pytest.skip("there is no mpiexec"))]
    done = subprocess.run(
        [*command, "-n", str(ranks), sys.executable, *arguments],
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": extended("PYTHONPATH", SOURCES, ROOT), **environment},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": seconds, "check": False},
    )
    return done.returncode, done.stdout


def mpiexec(ranks: int, *arguments: str, fails: bool = False, **environment: str) -> str:
    """Return the stdout and stderr of Python with `arguments` on all ranks."""
    code, output = job(ranks, *arguments, **environment)
    assert (code != 0) == fails, output
    return output


def mpiexec_in_turn(ranks: int, *program: str, **environment: str) -> str:
    """Return the output of a program on all ranks, one of which at a time compiles kernels: -m and a module, or -c and
    code.

    program: with its arguments.
    """
    with tempfile.NamedTemporaryFile() as file:
        return mpiexec(ranks, "-m", "tests.mesh.in_turn", file.name, *program, **environment)


def results(ranks: int, checks: list[str], folder: Path) -> dict[str, str]:
    """Return the result of each of `checks` on `ranks` ranks: "" if it passes; the first process that asks runs them.

    folder: shared by all processes of a run of pytest; all of them ask for the same checks.
    """

    def find(path: Path) -> None:
        asked = folder / f"mesh-{ranks}.asked.json"
        asked.write_text(json.dumps(checks))
        output = mpiexec_in_turn(ranks, "-m", "tests.mesh.program", str(asked), str(path))
        assert path.exists(), output

    found: dict[str, str] = json.loads(made_once(folder / f"mesh-{ranks}.json", find).read_text())
    return found
