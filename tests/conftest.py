"""The fixtures of the whole suite, and the choice of tests for a run for one device."""

import signal

from ep.testing.fixtures import device, pytest_generate_tests, rng
from tests.kernel_folders import kernels, launched
from tests.once import shared

__all__ = ["device", "kernels", "launched", "pytest_generate_tests", "rng", "shared"]


def pytest_configure():
    """Let Ctrl-C interrupt: a shell may start background jobs with SIGINT ignored, and children inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


FIRST = ("tests/cpu/test_code.py", "tests/cuda/test_ptx.py", "tests/testing/")
"""Files that take long; the first ones leave compiled kernels for the others."""


def pytest_collection_modifyitems(config, items):
    """Run tests of the CUDA device only in runs for it; a run for one device has only tests that need a device."""
    asked, wanted, others = config.getoption("ep_device"), [], []
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if asked is None:
            needed = "cuda" not in fixtures
        else:
            needed = "device" in fixtures or ("cuda" in fixtures and "cuda" in asked)
        (wanted if needed else others).append(item)
    items[:] = sorted(wanted, key=_place)
    config.hook.pytest_deselected(items=others)


def _place(item):
    """Return the place of a test in the order: long ones first, so that no processor waits for another at the end."""
    if item.nodeid.startswith(FIRST):
        return 0
    return 1 if item.get_closest_marker("ep_long") else 2
