"""Options and fixtures of the whole suite: the devices to test, and seeded random numbers."""

import hashlib
import os

import hypothesis
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from tests.device import DeviceUnderTest

# no deadline: the first example of a kernel compiles it
hypothesis.settings.register_profile("ep", deadline=None, print_blob=True)
hypothesis.settings.load_profile("ep")

BASE_SEED = int(os.environ.get("EP_TEST_SEED", "20260101"))


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        action="append",
        default=None,
        metavar="TAG",
        help="run the tests that need a device, and those alone, on devices of this type, such as cpu; may be repeated",
    )


def pytest_configure(config):
    """A device that is asked for and not there ends the run: tests of it must not be passed over."""
    for tag in config.getoption("--device") or []:
        try:
            DeviceManagerRegistry.GetDevice(DeviceType.FromTag(tag), 0)
        except (ValueError, DeviceUnavailableError) as error:
            raise pytest.UsageError(f"--device {tag}: {error}") from error


def pytest_collection_modifyitems(config, items):
    """Tests of the CUDA device are part of runs for it, and such a run has no tests that need no device."""
    asked, wanted, others = config.getoption("--device"), [], []
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if asked is None:
            needed = "cuda" not in fixtures
        else:
            needed = "device" in fixtures or ("cuda" in fixtures and "cuda" in asked)
        (wanted if needed else others).append(item)
    items[:] = wanted
    config.hook.pytest_deselected(items=others)


def pytest_report_header(config):
    return f"devices: {', '.join(_devices(config))}; EP_TEST_SEED={BASE_SEED}"


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", _devices(metafunc.config), indirect=True, scope="session")


@pytest.fixture(scope="session")
def device(request) -> DeviceUnderTest:
    """The device under test; a test that launches takes it, and never names a device itself."""
    return DeviceUnderTest(DeviceType.FromTag(request.param))


@pytest.fixture
def rng(request) -> np.random.Generator:
    """Random numbers that differ from test to test and are the same in every run with one EP_TEST_SEED."""
    digest = hashlib.sha256(f"{BASE_SEED} {request.node.nodeid}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and "rng" in getattr(item, "fixturenames", ()):
        report.sections.append(("seed", f"EP_TEST_SEED={BASE_SEED} pytest '{item.nodeid}'"))
    return report


def _devices(config) -> list[str]:
    return config.getoption("--device") or ["cpu"]
