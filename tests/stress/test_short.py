"""The short form of `python -m tests.stress`: a few trials of each kind; and a test that it reports failures."""

import re
import shlex
import subprocess
import sys

import pytest

from ep.include import DeviceType
from ep.include.primitive import registered
from tests.stress import runner
from tests.stress.calls import MAKERS

SEED = 20260101
SEED_OF_FAULTS = 39  # the first four trials fail, crash, hang and pass
FOR_EVER = 600.0
TRIALS = {
    **{"launches": 30, "malformed": 40, "copies": 20, "threads": 6},
    **{"forks": 1, "compiling_forks": 1, "interrupts": 1, "cache_files": 1, "leaks": 1},
    **{"gradients": 30, "overlaps": 60, "ranks": 3, "stacks": 12, "operators": 15},
}
TRIALS_ELSEWHERE = 10  # on devices other than the CPU, whose kernels take several times as long to compile
ON_ANY_DEVICE = ("launches", "malformed", "copies", "operators")


def check(kind, tag, count):
    outcome = runner.run(kind, tag, SEED, 0, 1, count, FOR_EVER)
    assert outcome.trials == count
    assert not outcome.failures, "\n\n".join(map(str, outcome.failures))


@pytest.mark.ep_long
@pytest.mark.parametrize("kind", ON_ANY_DEVICE)
def test_trials_on_any_device(device, kind):
    check(kind, str(device), TRIALS[kind] if device.type is DeviceType.kCPU else TRIALS_ELSEWHERE)


@pytest.mark.ep_long
@pytest.mark.parametrize("kind", [kind for kind in runner.KINDS if kind not in ON_ANY_DEVICE])
def test_trials_on_the_cpu(kind):
    if not runner.is_for(kind, "cpu"):
        pytest.skip(f"what {kind} needs is not installed")
    check(kind, "cpu", TRIALS[kind])


def test_every_primitive_has_calls(device):
    assert {entry.interface for entry in registered(device.type)} == MAKERS.keys()


def test_what_goes_wrong_is_found():
    """A failure, a crash and a trial that hangs are reported; later trials run, and each trial can be repeated."""
    outcome = runner.run("faults", "cpu", SEED_OF_FAULTS, 0, 1, 4, FOR_EVER)
    assert outcome.trials == 4
    failed, crashed, hung = outcome.failures
    assert "ValueError: a failure" in failed.reason
    assert "crashed: SIGSEGV" in crashed.reason
    assert "Timeout" in hung.reason
    again = runner.run("faults", "cpu", SEED_OF_FAULTS, crashed.number, 1, 1, FOR_EVER)
    assert [other.command for other in again.failures] == [crashed.command]


def test_nothing_done_is_a_failure():
    command = shlex.split(runner.command("launches", "cpu", SEED, 3))
    done = subprocess.run([sys.executable, *command[1:]], cwd=runner.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^launches +1 +0 ", done.stdout, re.MULTILINE)
    nothing = [sys.executable, "-m", "tests.stress", "--device", "cuda", "--only", "forks", "--seconds", "1"]
    assert subprocess.run(nothing, cwd=runner.ROOT, capture_output=True, check=False).returncode == 1
