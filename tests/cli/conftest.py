"""Runs commands in this process."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ep.cli.main import main


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def ep(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """A function that runs `ep` with its arguments, each converted to text."""

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return run
