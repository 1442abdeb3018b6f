"""The examples of docs/operators.md and docs/placement.md run."""

import re
from pathlib import Path

import pytest

from ep.cli.main import main
from tests.mesh.jobs import mpiexec
from tests.subprocesses import run

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = "".join((DOCS / name).read_text() for name in ("operators.md", "placement.md"))


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL))
def test_examples_run(example):
    if "ep.mesh" in example:
        pytest.importorskip("mpi4py")
        mpiexec(4, "-W", "error", "-c", example)
    else:
        run(example)


COMMANDS = [line for text in re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL) for line in text.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command):
    """Where there is no GPU, the one that is about CUDA says that nothing matches."""
    program, *arguments = command.split()
    assert program == "ep"
    assert main(arguments) in ((0, 1) if "cuda" in arguments else (0,))
