"""Fixtures of the whole suite, and which tests a run for one device has."""

import signal

from ep.testing.fixtures import device, pytest_generate_tests, rng
from tests.kernel_folders import kernels, launched
from tests.once import shared

__all__ = ["device", "kernels", "launched", "pytest_generate_tests", "rng", "shared"]


def pytest_configure():
    """Let Ctrl-C interrupt: a shell may start background jobs with SIGINT ignored, and children inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


FIRST = ("tests/cpu/test_code.py", "tests/cuda/test_ptx.py", "tests/cpu/test_avx2.py", "tests/testing/")
"""The tests that take long, lest a processor waits for another one at the end. The first leave kernels to others."""


def pytest_collection_modifyitems(config, items):
    """Tests of the CUDA device are part of runs for it, and such a run has no tests that need no device."""
    asked, wanted, others = config.getoption("ep_device"), [], []
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if asked is None:
            needed = "cuda" not in fixtures
        else:
            needed = "device" in fixtures or ("cuda" in fixtures and "cuda" in asked)
        (wanted if needed else others).append(item)
    items[:] = sorted(wanted, key=lambda item: not item.nodeid.startswith(FIRST))
    config.hook.pytest_deselected(items=others)
