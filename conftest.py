"""Which cases of a test a run has. In the root, since the conformance suite is no part of `tests`."""

import gc
import hashlib
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.devices import prepare

CASES = 24
"""How many cases of a test there are at most: most of the time is compilation."""

CASES_ON_PTX = 8
"""The same where kernels run from their PTX."""

_ON_PTX = pytest.StashKey[bool]()
_TURN = pytest.StashKey[str]()
"""What the choice of cases depends on."""


def pytest_addoption(parser):
    parser.addoption(
        "--ep-every-case",
        action="store_true",
        help=f"run every case of each test; without it, {CASES} of each, and {CASES_ON_PTX} of CUDA kernels from PTX",
    )
    parser.addoption(
        "--ep-turn",
        metavar="NAME",
        help="the name that the choice of cases follows from; without it, that of the commit, so that each has others",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.stash[_ON_PTX] = any(prepare(tag) for tag in config.getoption("ep_device", None) or ())
    config.stash[_TURN] = config.getoption("ep_turn") or _commit()


def _commit():
    """Return the name of the commit that is checked out; an empty one outside a repository."""
    command = ["git", "-C", Path(__file__).parent, "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def pytest_collection_finish(session):
    """Collect garbage less often: compilers make many objects."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_runtest_teardown(item, nextitem):
    """Leave what compilers keep out of the next collections: a full one of all of it takes seconds."""
    if nextitem is not None and nextitem.path != item.path:
        gc.freeze()


def pytest_report_header(config):
    lines = ["ep: CUDA kernels run from their PTX, on the CPU"] if config.stash[_ON_PTX] else []
    if not config.getoption("ep_every_case"):
        turn = config.stash[_TURN]
        lines.append(f"ep: at most {_most(config)} cases of each test, by --ep-turn {turn} (all: --ep-every-case)")
    return lines


def _most(config):
    return CASES_ON_PTX if config.stash[_ON_PTX] else CASES


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Choose cases by a digest of their names and of the turn, and those that failed in the last run.

    It is done last: what the command line selects, by name or by `-k`, is chosen from.
    Tests with the same keys have cases of the same keys, whose kernels may be the same. Long tests have none where
    kernels run from their PTX.
    """
    if config.getoption("ep_every_case"):
        return
    tests = defaultdict(list)
    for item in items:
        if config.stash[_ON_PTX] and item.get_closest_marker("ep_long"):
            continue
        tests[item.nodeid.partition("[")[0]].append(item)
    turn, most = config.stash[_TURN], _most(config)
    chosen = {
        item.nodeid
        for cases in tests.values()
        for item in sorted(cases, key=lambda item: _digest(turn, item.nodeid.partition("[")[2]))[:most]
    }
    if config.pluginmanager.hasplugin("cacheprovider"):
        chosen.update(config.cache.get("cache/lastfailed", {}))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def _digest(turn, case):
    return hashlib.sha256(f"{turn} {case}".encode()).digest()
