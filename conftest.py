"""What a run needs before any device is asked for. In the root, since the conformance suite is no part of `tests`."""

import pytest

from tests.devices import prepare


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    for tag in config.getoption("ep_device", None) or ():
        prepare(tag)
