"""What a run needs before any device is asked for. In the root, since the conformance suite is no part of `tests`."""

import gc
import hashlib
from collections import defaultdict

import pytest

from tests.devices import prepare

CASES = 8
"""How many cases of a test there are at most where kernels run from their PTX: most of the time is compilation."""

_ON_PTX = pytest.StashKey[bool]()


def pytest_addoption(parser):
    parser.addoption(
        "--ep-every-case",
        action="store_true",
        help=f"run every case of each test where CUDA kernels run from their PTX; without it, {CASES} of each",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.stash[_ON_PTX] = any(prepare(tag) for tag in config.getoption("ep_device", None) or ())


def pytest_collection_finish(session):
    """Collect garbage less often: compilers make many objects."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_runtest_teardown(item, nextitem):
    """Leave what compilers keep out of the next collections: a full one of all of it takes seconds."""
    if nextitem is not None and nextitem.path != item.path:
        gc.freeze()


def pytest_report_header(config):
    return "ep: CUDA kernels run from their PTX, on the CPU" if config.stash[_ON_PTX] else None


def pytest_collection_modifyitems(config, items):
    """Choose cases by a digest of their names: the same in every run, and of all data types.

    Tests with the same keys have cases of the same keys, whose kernels may be the same. Long tests have none.
    """
    if not config.stash[_ON_PTX] or config.getoption("ep_every_case"):
        return
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("ep_long"):
            continue
        tests[item.nodeid.partition("[")[0]].append(item)
    chosen = {item.nodeid for cases in tests.values() for item in sorted(cases, key=_digest)[:CASES]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def _digest(item):
    return hashlib.sha256(item.nodeid.partition("[")[2].encode()).digest()
