"""The pytest plugin of the conformance suite: it selects the devices to test, and reports on them.

`pytest -p ep.testing.plugin --pyargs ep.testing --ep-device foo`
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from functools import cache
from typing import Any, Final

import pytest

from ep import DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from ep.testing import coverage
from ep.testing.fixtures import BASE_SEED, NO_DEVICE, device_tags
from ep.testing.keys import FlatKey, asked_for, registered_keys

_LEFT_OUT: Final = pytest.StashKey[int]()
_TESTED: Final = "ep_device"
"""The property of a report that names the device that a test of the suite ran on."""
_HAS_FAILED: Final = pytest.StashKey[bool]()
"""Set for a test that has failed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--ep-device",
        action="append",
        metavar="TAG",
        help="run the tests that need a device of ep on devices of this type, such as cpu; may be repeated",
    )
    parser.addoption(
        "--ep-every-case",
        action="store_true",
        help="run every case of each test; only runs in the repository of ep leave some to other turns without it",
    )
    parser.addini("ep_devices", "the device types of ep that are tested without --ep-device", type="args", default=[])
    parser.addini(
        "ep_same_words",
        "whether errors of launches must have the exact words of ep's devices; else they must name the argument",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    """End the run if a requested device is not present: its tests must not be skipped."""
    config.addinivalue_line("markers", "ep_keys(factory, preferred, suits): the keys that a test of ep runs with")
    config.addinivalue_line("markers", "ep_needs(factory, *keys): a test of ep needs one of these keys")
    config.addinivalue_line(
        "markers", "ep_long: a test of ep that takes long, minutes where a processor plays the device"
    )
    for tag in device_tags(config):
        try:
            DeviceManagerRegistry.GetDevice(DeviceType.FromTag(tag), 0)
        except (ValueError, DeviceUnavailableError) as error:
            where = "--ep-device" if config.getoption("ep_device") else "ep_devices"
            raise pytest.UsageError(f"{where} {tag}: {error}") from error


def pytest_report_header(config: pytest.Config) -> str:
    return f"ep: devices under test: {', '.join(device_tags(config)) or 'none'}; EP_TEST_SEED={BASE_SEED}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of keys that the device does not register; end the run if a device has no tests left."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    by_device: Counter[str] = Counter()
    for item in items:
        tag = _tag(item)
        if tag == NO_DEVICE:
            return _end_run(config, items, "there is no device to test: name its type, as in --ep-device cpu")
        there = tag is None or all(_has(tag, *needed) for needed in asked_for(item))
        (kept if there else left_out).append(item)
        if tag is not None:
            by_device[tag] += there
            if item.module.__name__.startswith("ep.testing."):  # type: ignore[attr-defined]
                item.user_properties.append((_TESTED, tag))
    for tag, count in by_device.items():
        if not count:
            why = f"nothing of {tag} is tested: all tests are about keys that it does not register"
            return _end_run(config, items, why)
    items[:] = kept
    config.stash[_LEFT_OUT] = len(left_out)
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the parts of each device that the suite covers, and those that it does not: tests do not show this."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    tested = {value for report in reports for name, value in getattr(report, "user_properties", ()) if name == _TESTED}
    if not reports and (asked := config.getoption("ep_device")) and not config.getoption("collectonly"):
        terminalreporter.write_line(f"nothing of {', '.join(asked)} was tested", red=True)
    if not tested:
        return
    terminalreporter.section("conformance to the contracts of ep")
    for tag in sorted(tested):
        for line in coverage.describe(DeviceType.FromTag(tag)):
            terminalreporter.write_line(f"{tag}: {line}")
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} tests left out: they are about keys that are not registered")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test with random numbers how to repeat the test."""
    report = yield
    item.stash[_HAS_FAILED] = report.failed or item.stash.get(_HAS_FAILED, False)
    if report.failed and "rng" in getattr(item, "fixturenames", ()):
        options = "".join(f" --ep-device {tag}" for tag in item.config.getoption("ep_device") or ())
        report.sections.append(("seed", f"EP_TEST_SEED={BASE_SEED} pytest{options} '{item.nodeid}'"))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a worker of pytest-xdist after a failed test that its device does not survive, as of an illegal access.

    Another worker runs the tests that follow, which would all fail in this one.
    """
    done = yield
    if item.stash.get(_HAS_FAILED, False) and hasattr(item.config, "workerinput"):
        for tag in device_tags(item.config):
            device = DeviceManagerRegistry.GetDevice(DeviceType.FromTag(tag), 0)
            try:
                stream = device.CreateStream()
                stream.Sync()
                device.DestroyStream(stream)
            except Exception:
                os._exit(1)  # at once: exit handlers may wait for the device
    return done


def _end_run(config: pytest.Config, items: list[pytest.Item], why: str) -> None:
    """End the run with an error; in a worker of pytest-xdist, which cannot report errors, with no tests."""
    if not hasattr(config, "workerinput"):
        raise pytest.UsageError(why)
    items.clear()


def _tag(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("device") if callspec else None


def _has(tag: str, factory: Any, keys: list[FlatKey | None]) -> bool:
    there = _keys(tag, factory)
    return not there.isdisjoint(keys) if keys else bool(there)


@cache
def _keys(tag: str, factory: Any) -> frozenset[FlatKey]:
    return frozenset(registered_keys(DeviceType.FromTag(tag), factory))
