"""The fixtures of the suite: a device, seeded random numbers, and a check of refused launches."""

from __future__ import annotations

import hashlib
from typing import Final

import hypothesis
import numpy as np
import pytest

from ep.common.environment import TEST_SEED
from ep.include import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import chosen, key_name
from ep.testing.refusals import Refusals

# no deadline: the first example of a kernel compiles it, and on a busy machine even drawing numbers takes long
hypothesis.settings.register_profile(
    "ep", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("ep")

BASE_SEED: Final = TEST_SEED.value()

NO_DEVICE: Final = "none"
"""A placeholder for the device in tests that are collected without one; the plugin ends such a run."""


def device_tags(config: pytest.Config) -> list[str]:
    """Return the tags of the device types under test."""
    given: list[str] | None = config.getoption("ep_device", None)
    return given or list(config.getini("ep_devices"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the argument `device` on each device under test, and one with `key` for each of its keys."""
    if "device" not in metafunc.fixturenames:
        return
    if not metafunc.config.pluginmanager.has_plugin("ep.testing.plugin"):
        raise pytest.UsageError("the tests of ep.testing need its plugin: pytest -p ep.testing.plugin")
    tags = device_tags(metafunc.config)
    metafunc.parametrize("device", tags or [NO_DEVICE], indirect=True, scope="session")
    mark = metafunc.definition.get_closest_marker("ep_keys")
    if mark is not None:
        keys = [key for tag in tags for key in chosen(DeviceType.FromTag(tag), *mark.args)]
        # the plugin leaves out a test if its device does not have its key
        metafunc.parametrize("key", list(dict.fromkeys(keys)) or [None], ids=key_name)


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> DeviceUnderTest:
    """Return the device under test; every test that launches uses it, and never names a device itself."""
    return DeviceUnderTest(DeviceType.FromTag(request.param))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Return random numbers that differ from test to test and are the same in every run with one EP_TEST_SEED."""
    test = f"{request.module.__name__}::{request.node.nodeid.partition('::')[2]}"  # the same in every installation
    digest = hashlib.sha256(f"{BASE_SEED} {test}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


@pytest.fixture
def refuses(device: DeviceUnderTest, request: pytest.FixtureRequest) -> Refusals:
    """Return the object that checks that launches are refused."""
    return Refusals(device, same_words=request.config.getini("ep_same_words"))
