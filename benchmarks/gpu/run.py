"""A whole run on a GPU: tests, copy, launches, cases, report."""

from __future__ import annotations

import itertools
import signal
import sys
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu import document as files
from benchmarks.gpu import overhead, report, suite
from benchmarks.gpu.budget import Budget
from benchmarks.gpu.measure import Bench, TooLarge
from benchmarks.gpu.peers import installed
from benchmarks.gpu.plan import Planned, planned
from benchmarks.gpu.scale import GPU
from benchmarks.gpu.timing import EventClock
from ep import DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from ep.cli import text
from ep.include.errors import UnsupportedPrimitiveError

_TESTS: Final = 0.4
_WRITE_EVERY: Final = 10.0
_MOST_FAILURES: Final = 5
_NO_TIME: Final = "no time was left"


def run(arguments: Namespace) -> int:
    """Run the command line; return 1 if a test or a case failed, 2 if nothing can be measured."""
    budget = Budget(60 * arguments.minutes)
    try:
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
    except DeviceUnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    document = new_document(device)
    path = arguments.json or files.default_path(document)
    with _stoppable():
        try:
            _parts(arguments, device, document, budget, path)
        except KeyboardInterrupt:
            document["left_out"]["what came after"] = f"stopped from outside after {budget.elapsed():.0f} s"
        except Exception as error:  # keep the earlier measurements in the file
            traceback.print_exc()
            document["failed"].append({"what": "the run", "error": f"{type(error).__name__}: {error}"})
    document["seconds"] = budget.elapsed()
    files.write(path, document)
    report.show(document, table=arguments.table)
    print(f"\nwritten to {path}", flush=True)
    return 1 if _went_wrong(document) else 0


def new_document(device: Any) -> dict[str, Any]:
    """Return the document before any measurement."""
    empty: dict[str, Any] = {
        **{"tests": {}, "peers": {}, "absent_peers": {}, "copy_bytes": None, "copy_gb_per_s": None},
        **{"overhead": {}, "graph": {}, "left_out": {}, "not_measured": [], "failed": [], "results": []},
    }
    return files.describe(device) | empty


def _went_wrong(document: dict[str, Any]) -> bool:
    return bool(
        document["failed"]
        or document["tests"].get("failed")
        or document["graph"].get("replay_computes") is False
        or any("ep" in result["wrong"] for result in document["results"])
    )


def _parts(arguments: Namespace, device: Any, document: dict[str, Any], budget: Budget, path: Path) -> None:
    _say(f"{device.properties.name}: {arguments.minutes:g} minutes")
    if arguments.tests:
        limit = budget.share(_TESTS)
        _say(f"{' '.join(suite.command())}, {limit:.0f} s at most")
        document["tests"] = suite.run(limit)
        _say("\n".join(document["tests"]["last_lines"]))
    else:
        document["left_out"]["tests"] = "left out by --no-tests"
    device.SetAsActiveDevice()
    stream = device.CreateStream()
    peers, document["absent_peers"] = installed(arguments.peers, stream)
    document["peers"] = {peer.name: peer.version for peer in peers}
    _say(f"peers: {document['peers'] or 'none'}; {document['absent_peers'] or 'all there'}")
    clock = EventClock(stream, GPU)
    bench = Bench(stream, clock, peers, arguments.seconds)
    document["copy_bytes"] = GPU.copy
    document["copy_gb_per_s"] = bench.copy_speed() / 1e9
    _say(f"the device's copy of {GPU.copy:,} bytes: {document['copy_gb_per_s']:.0f} GB/s read and written")
    document["overhead"] = _attempt(document, "overhead", lambda: overhead.measure(stream, peers))
    document["graph"] = _attempt(document, "graph", lambda: overhead.measure_graph(stream, clock))
    files.write(path, document)
    plan = list(planned(arguments.only, arguments.dtypes, arguments.sizes, arguments.cases))
    measure_cases(plan, bench, device, document, budget, path)


def measure_cases(
    plan: list[Planned], bench: Bench, device: Any, document: dict[str, Any], budget: Budget, path: Path | None = None
) -> None:
    """Measure as much as the budget allows, and list the rest, also if the run is interrupted."""
    written = time.monotonic()
    longest: dict[int, float] = {}  # by size
    left: dict[str, list[Planned]] = {}
    failures, position, why = 0, 0, "stopped from outside"
    try:
        for position, entry in enumerate(plan):
            if failures >= _MOST_FAILURES:
                why = f"{failures} cases in a row had failed"
                return
            begin = time.monotonic()
            if budget.remaining() <= longest.get(entry.size, 0.0):
                left.setdefault(_NO_TIME, []).append(entry)
                continue
            failed = _measure(entry, bench, document)
            failures = failures + 1 if failed else 0
            now = time.monotonic()
            longest[entry.size] = max(longest.get(entry.size, 0.0), now - begin)
            if position + 1 == len(plan) or _group(plan[position + 1]) != _group(entry):
                _summarise(entry, document, budget)
                if not failed:
                    device.Reset()  # the buffers of the next group have other sizes
            if path and now - written > _WRITE_EVERY:
                files.write(path, document)
                written = now
        position = len(plan)
    finally:
        left.setdefault(why, []).extend(plan[position:])
        for reason, entries in left.items():
            for _, of_group in itertools.groupby(entries, _about):
                missing = list(of_group)
                document["not_measured"].append(_about(missing[0]) | {"cases": len(missing), "why": reason})


def _measure(entry: Planned, bench: Bench, document: dict[str, Any]) -> bool:
    """Measure one case and keep the result; return True if it failed."""
    what = f"{_group(entry)}, {entry.case.name}"
    try:
        document["results"].append(_about(entry) | bench.measure(entry.case, entry.size))
    except (TooLarge, UnsupportedPrimitiveError, MemoryError) as error:
        document["not_measured"].append(_about(entry) | {"case": entry.case.name, "cases": 1, "why": str(error)})
    except Exception as error:  # it is recorded; other cases may work
        document["failed"].append({"what": what, "error": f"{type(error).__name__}: {error}"})
        _say(f"FAILED {what}: {type(error).__name__}: {error}")
        return True
    return False


def _summarise(entry: Planned, document: dict[str, Any], budget: Budget) -> None:
    results = [result for result in document["results"] if result.items() >= _about(entry).items()]
    parts = [f"{_group(entry)}: {text.plural(len(results), 'case')}"]
    for name, value in (("of the best peer", "ratio"), ("of the copy", "share_of_copy")):
        mean = report.geometric_mean(r[value] for r in results if r[value])
        if mean is not None:
            parts.append(f"{mean:.2f} {name}")
    _say(f"{budget.elapsed():5.0f} s  {', '.join(parts)}")


def _about(entry: Planned) -> dict[str, Any]:
    return {"set": entry.set, "dtype": entry.dtype, "size": entry.size}


def _group(entry: Planned) -> str:
    return f"{entry.set} {entry.dtype} of {entry.size:,}"


def _attempt(document: dict[str, Any], what: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return measure()
    except Exception as error:
        document["failed"].append({"what": what, "error": f"{type(error).__name__}: {error}"})
        _say(f"FAILED {what}: {type(error).__name__}: {error}")
        return {}


def _say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Make signals that ask the process to end interrupt it, as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
