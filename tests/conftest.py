"""The fixtures of the whole suite, and the choice of tests for a run for one device."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

from ep.testing.fixtures import device, pytest_generate_tests, rng
from tests.beside import run_beside, run_on_example
from tests.forked import run_forked
from tests.kernel_folders import first_launch, kernels, launched
from tests.once import shared
from tests.recordings import check_recordings

__all__ = [
    "device",
    "first_launch",
    "kernels",
    "launched",
    "pytest_generate_tests",
    "rng",
    "run_beside",
    "run_forked",
    "run_on_example",
    "shared",
]


OF_CUDA = ("ops/test_cuda_indices_ptx.py", "primitive/test_missing_parts.py", "cuda/test_*.py")
collect_ignore = []
if find_spec("numba_cuda") is None:  # it has no wheel for Python 3.15
    found = (file for form in OF_CUDA for file in Path(__file__).parent.glob(form))
    collect_ignore = [str(file) for file in found if file.name != "test_absent.py"]


def pytest_report_header():
    """Say that tests are left out."""
    return f"ep: without numba-cuda, {len(collect_ignore)} files of tests are left out" if collect_ignore else []


def pytest_configure():
    """Let Ctrl-C interrupt: a shell may start background jobs with SIGINT ignored, and children inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def compiled_modules(shared):
    """Let the processes that tests start keep compiled modules in a folder of the run, if they may not at their usual
    place: hundreds of processes would compile the same modules.
    """
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(shared / "modules"))
        yield


@pytest.fixture(autouse=True)
def recordings_are_checked(monkeypatch):
    """Compute each call that is recorded in Python as well, and compare."""
    check_recordings(monkeypatch)


FIRST = ("tests/cpu/test_code.py", "tests/cuda/test_ptx.py", "tests/testing/")
"""Files that take long; the first ones leave compiled kernels for the others."""


def pytest_collection_modifyitems(config, items):
    """Run tests of the CUDA device only in runs for it; a run for one device has only tests that need a device."""
    asked, wanted, others = config.getoption("ep_device"), [], []
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        needed = "cuda" in (asked or ()) if "cuda" in fixtures else asked is None or "device" in fixtures
        (wanted if needed else others).append(item)
    items[:] = sorted(wanted, key=_place)
    config.hook.pytest_deselected(items=others)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let a process that has no tests left take some of another one. `--dist` chooses other ways to share tests."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def _place(item):
    """Return the place of a test in the order: long ones first, so that no processor waits for another at the end."""
    if item.nodeid.startswith(FIRST):
        return 0
    return 1 if item.get_closest_marker("ep_long") else 2
