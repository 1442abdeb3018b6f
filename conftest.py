"""The choice of the test cases of a run. In the root, because the conformance suite is not part of `tests`."""

import gc
import os
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest

from tests import forked
from tests.choice import Choice
from tests.devices import DEVIATIONS, prepare
from tests.skips import unlisted
from tools.commit import commit

_CHOICE = pytest.StashKey[Choice | None]()
"""The choice of the cases of a run; None if it has all of them, as a run for another project has."""

_ON_PTX = pytest.StashKey[bool]()
_OUTPUT = pytest.StashKey[dict]()
_TAKEN = pytest.StashKey[list["Taken"]]()
_OF_TESTS = pytest.StashKey[list[tuple[float, str]]]()
"""The processor seconds of the processes that each test started, and its name."""

_LEFT_OUT = "ep_left_out"
"""The numbers of cases left out, in all and of each long test; a worker sends them to the process that reports."""
_PROCESSOR = "ep_processor"
"""The times of a worker, a `Taken` as a tuple; a worker sends it to the process that reports."""


class Taken(NamedTuple):
    """The processor seconds of a process of tests, its children and its compilers; how many kernels these made; and the
    five tests whose processes took most, with their seconds.
    """

    seconds: float
    of_children: float
    compiling: float
    kernels: int
    costly: tuple[tuple[float, str], ...]


def pytest_addoption(parser):
    parser.addoption(
        "--ep-approximations",
        choices=DEVIATIONS,
        default="exact",
        help="from PTX, the results of instructions that a GPU approximates: exact, or at a bound of their errors",
    )
    parser.addoption(
        "--ep-turn",
        metavar="NAME",
        help="the name that the choice of cases follows from; without it, that of the commit, so that each has others",
    )
    parser.addoption(
        "--ep-listed-skips",
        type=Path,
        metavar="FILE",
        help="fail if a test is skipped that FILE, docs/support.md, does not list with its reason",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    gc.set_threshold(50_000, 20, 20)  # collect garbage less often: cases and compilers make many objects
    approximations = config.getoption("ep_approximations")
    config.stash[_ON_PTX] = any(prepare(tag, approximations) for tag in config.getoption("ep_device", None) or ())
    config.option.ep_turn = config.getoption("ep_turn") or commit()
    whole = config.getoption("ep_every_case") or config.rootpath != Path(__file__).parent
    config.stash[_CHOICE] = choice = None if whole else _choice(config)
    if choice:  # now, because property tests keep the number of examples that is set when their module is imported
        hypothesis.settings.register_profile(
            "ep-some", hypothesis.settings.get_profile("ep"), max_examples=choice.examples
        )
        hypothesis.settings.load_profile("ep-some")


def _choice(config):
    """Return the numbers of cases that a run has time for: most of it is compilation."""
    long = 0 if config.getoption("ep_device", None) else 2
    return Choice(long, examples=15, turn=config.getoption("ep_turn"))


def pytest_collection_finish():
    """Free the cases that were not chosen; later collections of garbage skip the others, which stay."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note the processor time of the processes that a test starts."""
    before = _of_children()
    try:
        return (yield)
    finally:
        item.config.stash.setdefault(_OF_TESTS, []).append((_of_children() - before, item.nodeid))


def _of_children():
    times = os.times()
    return times.children_user + times.children_system + sum(forked.SECONDS)


def pytest_runtest_teardown(item, nextitem):
    """Exclude the objects that compilers keep from later collections: a full collection of them takes seconds."""
    if nextitem is not None and nextitem.path != item.path:
        gc.freeze()


def pytest_report_header(config):
    approximations = config.getoption("ep_approximations")
    how = f"on the CPU, with approximations {approximations}" if approximations != "exact" else "on the CPU"
    lines = [f"ep: CUDA kernels run from their PTX, {how}"] if config.stash[_ON_PTX] else []
    return lines + [f"ep: {choice}" for choice in [config.stash[_CHOICE]] if choice]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Choose cases, and add those that failed in the last run.

    This hook runs last, so that it chooses from the cases that the command line selects, by name or by `-k`.
    """
    if config.stash[_CHOICE] is None:
        return
    chosen = config.stash[_CHOICE].chosen(items)
    if config.pluginmanager.hasplugin("cacheprovider"):
        chosen.update(config.cache.get("cache/lastfailed", {}))
    others = [item for item in items if item.nodeid not in chosen]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item.nodeid in chosen]
    long = Counter(item.nodeid.partition("[")[0] for item in others if item.get_closest_marker("ep_long"))
    getattr(config, "workeroutput", config.stash.setdefault(_OUTPUT, {}))[_LEFT_OUT] = len(others), dict(long)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    """Send the times of a worker to the process that reports; without workers, store them."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[_PROCESSOR] = tuple(_taken(config))
    elif not config.pluginmanager.hasplugin("dsession"):
        config.stash[_TAKEN] = [_taken(config)]
    if _unlisted(config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unlisted(config):
    """Return the skipped tests that are a failure of the run: none without the option, and in workers."""
    file = config.getoption("ep_listed_skips")
    if file is None or hasattr(config, "workeroutput"):
        return []
    return unlisted(config.pluginmanager.getplugin("terminalreporter").stats.get("skipped", ()), file)


def _taken(config):
    names = "ep.cpu.compile.compiler", "ep.cuda.compile.compiler", "ep.cuda.launch.code"
    compilers = [sys.modules[name].statistics for name in names if name in sys.modules]
    times = os.times()
    return Taken(
        times.user + times.system,
        times.children_user + times.children_system,
        sum(one.seconds for one in compilers),
        sum(one.compiled for one in compilers),
        tuple(sorted(config.stash.get(_OF_TESTS, []))[-5:]),
    )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Store the times of a worker of pytest-xdist, and the cases it left out: the same for all workers."""
    output = dict(getattr(node, "workeroutput", {}))
    if taken := output.pop(_PROCESSOR, None):
        node.config.stash.setdefault(_TAKEN, []).append(Taken(*taken))
    node.config.stash.setdefault(_OUTPUT, {}).update(output)


def pytest_terminal_summary(terminalreporter, config):
    """Print what passing tests do not show: unlisted skips, the cases left out, and where the time of the run went."""
    if found := _unlisted(config):
        terminalreporter.section("failed: skipped for a reason that is not listed", red=True)
        for line in found:
            terminalreporter.write_line(line)
    cases, long = config.stash.get(_OUTPUT, {}).get(_LEFT_OUT, (0, {}))
    if cases:
        terminalreporter.section("left to other turns, and to --ep-every-case")
        terminalreporter.write_line(f"{cases:,} cases of tests")
    if long:
        named = ", ".join(f"{name} ({count})" for name, count in sorted(long.items()))
        terminalreporter.write_line(f"tests that take long: {named}")
    if taken := config.stash.get(_TAKEN, []):
        total = Taken(*(sum(column, type(column[0])()) for column in zip(*taken, strict=True)))
        terminalreporter.section("what it took")
        terminalreporter.write_line(
            f"{total.seconds + total.of_children:.0f} processor seconds: {total.of_children:.0f} in processes that "
            f"tests started, {total.compiling:.0f} for the {total.kernels:,} kernels that tests themselves compiled"
        )
        for seconds, name in sorted(total.costly)[:-6:-1]:
            if seconds >= 1:
                terminalreporter.write_line(f"{seconds:.0f} in processes of {name}")
