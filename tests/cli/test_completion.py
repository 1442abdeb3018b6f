"""Completion in a shell, as argcomplete requests it."""

import pytest

from tests.forked import forking
from tests.subprocesses import run


@pytest.fixture(scope="module")
def complete():
    """Yield a function that returns the completions that the shell gets at the end of a line."""
    code = "os.dup2(1, 8)\nos.dup2(os.open(os.devnull, os.O_WRONLY), 9)\nmain([])"

    def completions(line):
        variables = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
        variables |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
        return run_forked(f"import os\nfrom ep.cli.main import main\n{code}", **variables).split("\n")

    with forking("import ep.cli.main") as run_forked:
        yield completions


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ep d", ["demo", "devices", "doctor"]),
        ("ep show gath", ["Gather"]),
        ("ep list --op fast", ["FastGelu", "FastGeluBackwardWithDyX"]),
        ("ep list --op kFastGeluB", ["FastGeluBackwardWithDyX"]),
        ("ep run log_so", ["log_softmax", "log_softmax_grad"]),
        ("ep run gel", ["gelu"]),
        ("ep ops gel", ["gelu"]),
        ("ep kernels tanh", ["tanh"]),
        ("ep sbp sig", ["sigmoid", "sign"]),
        ("ep run cast --dtype bfl", ["bfloat16", "BFloat16"]),
        ("ep run gather --pa", ["--params"]),
        ("ep bench --size ", ["small", "medium", "large"]),
        ("ep list --dtype bfl", ["bfloat16", "BFloat16"]),
        ("ep demo --device cu", ["cuda"]),
        ("ep cache warm --primitive expa", ["Expand"]),
    ],
)
def test_completion(complete, line, offered):
    assert sorted(complete(line)) == sorted(offered)


def test_argcomplete_is_not_imported_otherwise():
    run("import sys\nfrom ep.cli.main import main\nmain(['list'])\nassert 'argcomplete' not in sys.modules")


def test_without_argcomplete_the_command_runs():
    code = "import sys\nsys.modules['argcomplete'] = None\nfrom ep.cli.main import main\nmain(['--version'])"
    assert run(code, _ARGCOMPLETE="1").startswith("ep ")
