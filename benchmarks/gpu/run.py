"""The two runs on a GPU: the tests; or copy, launches, forms, cases, report."""

from __future__ import annotations

import itertools
import re
import signal
import sys
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu import checks, overhead, report
from benchmarks.gpu import document as files
from benchmarks.gpu.budget import Budget
from benchmarks.gpu.forms import FormBench, form_cases
from benchmarks.gpu.measure import Bench, TooLarge
from benchmarks.gpu.options import FORMS
from benchmarks.gpu.peers import installed
from benchmarks.gpu.plan import MAIN_DTYPES, Planned, planned
from benchmarks.gpu.scale import GPU, SMALL, Scale
from benchmarks.gpu.timing import EventClock
from ep import DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from ep.cli import text
from ep.include.data_type import as_data_type
from ep.include.errors import UnsupportedPrimitiveError
from tests.cuda.ptx_machine.install import install_without_gpu

_FORMS: Final = 0.15
"""The share of the time for the forms."""
_WRITE_EVERY: Final = 10.0
_MOST_FAILURES: Final = 5
_NO_TIME: Final = "no time was left"


def run(arguments: Namespace) -> int:
    """Run the command line; return 1 if a test or a case failed, 2 if nothing can be measured."""
    budget = Budget(60 * arguments.minutes)
    if arguments.dry_run and not install_without_gpu():
        print("a dry run needs the compiler of CUDA kernels, and no GPU", file=sys.stderr)
        return 2
    if arguments.part == "tests":
        return 0 if checks.run(budget, dry_run=arguments.dry_run) else 1
    try:
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
    except DeviceUnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    document = new_document(device)
    path = None if arguments.dry_run else arguments.json or files.default_path(document)
    document["dry_run"] = arguments.dry_run
    with _stoppable():
        try:
            _parts(arguments, device, document, budget, path)
        except KeyboardInterrupt:
            document["left_out"]["what came after"] = f"stopped from outside after {budget.elapsed():.0f} s"
        except Exception as error:  # keep the earlier measurements in the file
            traceback.print_exc()
            document["failed"].append({"what": "the run", "error": f"{type(error).__name__}: {error}"})
    document["seconds"] = budget.elapsed()
    if path is None:
        report.show_dry(document)
    else:
        files.write(path, document)
        report.show(document, table=arguments.table)
        print(f"\nwritten to {path}", flush=True)
    return 1 if _went_wrong(document) else 0


def new_document(device: Any) -> dict[str, Any]:
    """Return the document before any measurement."""
    empty: dict[str, Any] = {
        **{"dry_run": False, "peers": {}, "absent_peers": {}, "copy_bytes": None, "copy_gb_per_s": None},
        **{"overhead": {}, "graph": {}, "left_out": {}, "not_measured": [], "failed": [], "results": []},
        "forms": [],
    }
    return files.describe(device) | empty


def _went_wrong(document: dict[str, Any]) -> bool:
    return bool(
        document["failed"]
        or document["graph"].get("replay_computes") is False
        or any("ep" in result["wrong"] for result in (*document["results"], *document["forms"]))
    )


def _parts(arguments: Namespace, device: Any, document: dict[str, Any], budget: Budget, path: Path | None) -> None:
    dry, scale = arguments.dry_run, SMALL if arguments.dry_run else GPU
    _say(f"{device.properties.name}: {arguments.minutes:g} minutes")
    device.SetAsActiveDevice()
    stream = device.CreateStream()
    peers, document["absent_peers"] = installed(arguments.peers, stream)
    document["peers"] = {peer.name: peer.version for peer in peers}
    _say(f"peers: {document['peers'] or 'none'}; {document['absent_peers'] or 'all there'}")
    clock = EventClock(stream, scale)
    seconds = 1e-3 if dry else arguments.seconds
    bench = Bench(stream, clock, peers, seconds)
    document["copy_bytes"] = scale.copy
    document["copy_gb_per_s"] = bench.copy_speed() / 1e9
    if not dry:
        _say(f"the device's copy of {scale.copy:,} bytes: {document['copy_gb_per_s']:.0f} GB/s read and written")
    document["overhead"] = _attempt(document, "overhead", lambda: overhead.measure(stream, peers, scale))
    document["graph"] = _attempt(document, "graph", lambda: overhead.measure_graph(stream, clock))
    if FORMS in arguments.only:
        forms = FormBench(stream, clock, (), seconds)
        plan = list(_planned_forms(arguments, scale))
        share = Budget(budget.share(_FORMS))
        measure_cases(plan, forms, device, document, share, path, into="forms")
    plan = list(planned(arguments.only, arguments.dtypes, arguments.sizes, arguments.cases, scale, dry))
    measure_cases(plan, bench, device, document, budget, path)


def _planned_forms(arguments: Namespace, scale: Scale) -> Iterator[Planned]:
    """Yield the cases of forms, of the main dtypes."""
    for dtype in MAIN_DTYPES:
        if dtype in (arguments.dtypes or MAIN_DTYPES):
            for case in form_cases(scale.elements, as_data_type(dtype).dtype):
                if re.search(arguments.cases, case.name):
                    yield Planned(FORMS, dtype, scale.elements, case)


def measure_cases(
    plan: list[Planned],
    bench: Bench,
    device: Any,
    document: dict[str, Any],
    budget: Budget,
    path: Path | None = None,
    *,
    into: str = "results",
) -> None:
    """Measure as much as the budget allows, and list the rest, also if the run is interrupted.

    into: the list of the document for the results.
    """
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
            failed = _measure(entry, bench, document, into)
            failures = failures + 1 if failed else 0
            now = time.monotonic()
            longest[entry.size] = max(longest.get(entry.size, 0.0), now - begin)
            if position + 1 == len(plan) or _group(plan[position + 1]) != _group(entry):
                _summarise(entry, document, budget, into)
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


def _measure(entry: Planned, bench: Bench, document: dict[str, Any], into: str) -> bool:
    """Measure one case and keep the result; return True if it failed."""
    what = f"{_group(entry)}, {entry.case.name}"
    try:
        document[into].append(_about(entry) | bench.measure(entry.case, entry.size))
    except (TooLarge, UnsupportedPrimitiveError, MemoryError) as error:
        document["not_measured"].append(_about(entry) | {"case": entry.case.name, "cases": 1, "why": str(error)})
    except Exception as error:  # it is recorded; other cases may work
        document["failed"].append({"what": what, "error": f"{type(error).__name__}: {error}"})
        _say(f"FAILED {what}: {type(error).__name__}: {error}")
        return True
    return False


def _summarise(entry: Planned, document: dict[str, Any], budget: Budget, into: str) -> None:
    about = _about(entry)
    results = [result for result in document[into] if all(result[name] == about[name] for name in about)]
    parts = [f"{_group(entry)}: {text.plural(len(results), 'case')}"]
    if document["dry_run"] or into != "results":
        _say(parts[0])
        return
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
