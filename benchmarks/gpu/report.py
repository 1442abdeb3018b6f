"""A summary of the measurements: geometric means by kind of case and size, slower cases, and the targets."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import report as all_cases
from benchmarks.gpu.kinds import AT_COPY_SPEED
from ep.cli import output, text

Result = dict[str, Any]

WANTED_RATIO: Final = 0.95
WANTED_MEAN: Final = 1.1
WANTED_SHARE: Final = 0.9
WANTED_MICROSECONDS: Final = 5.0
RATED_FROM: Final = 2**20
SHARE_FROM: Final = 2**26  # a smaller launch ends before it uses the memory as fully as a copy of 1 GiB
_MOST_LINES: Final = 40


@dataclass(frozen=True)
class Target:
    """A target, the measured value, and whether it is reached; None if it was not measured."""

    what: str
    measured: str
    met: bool | None


def show(document: dict[str, Any], *, table: bool = False) -> None:
    """Print everything."""
    results: list[Result] = document["results"]
    if table and results:
        all_cases.show(results)
    print(f"\n{_heading(document)}")
    _grids(results)
    _list("below 0.95 of the best peer, from 2^20 elements on", behind(results), lambda r: r["ratio"], _peer)
    _list("below 0.9 of the copy, from 2^26 elements on", below_copy(results), lambda r: r["share_of_copy"], _speed)
    _forms(document["forms"])
    _overhead(document)
    _wrong(results)
    _missing(document)
    _verdicts(results)
    print("\ntargets:")
    for target in targets(document):
        verdict = {True: "met", False: "MISSED", None: "not measured"}[target.met]
        print(f"  {verdict:12}  {target.what}: {target.measured}")


def show_dry(document: dict[str, Any]) -> None:
    """Print what ran, without any time."""
    results = [*document["results"], *document["forms"]]
    print(f"\ndry run, without a GPU: no time is reported; {text.plural(len(results), 'case')} ran")
    _wrong(results)
    _missing(document)


def verdicts(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Return a row for each kind that should reach the speed of a copy, with a verdict for each dtype.

    A verdict has the least share of the copy, from 2^26 elements on.
    """
    rated = [result for result in results if _shares(result) and result["kind"] in AT_COPY_SPEED]
    dtypes = list(dict.fromkeys(result["dtype"] for result in rated))
    rows = []
    for kind in AT_COPY_SPEED:
        shares = [[r["share_of_copy"] for r in rated if (r["kind"], r["dtype"]) == (kind, each)] for each in dtypes]
        rows.append([kind, *map(_verdict, shares)])
    return ["kind", *dtypes], rows


def _verdict(shares: Sequence[float]) -> str:
    if not shares:
        return "not measured"
    return f"{min(shares):.2f} {'met' if min(shares) >= WANTED_SHARE else 'MISSED'}"


def _verdicts(results: Sequence[Result]) -> None:
    columns, rows = verdicts(results)
    print(f"\nleast share of the device's copy from 2^26 elements on; {WANTED_SHARE} is wanted:")
    if len(columns) > 1:
        output.table(columns, rows)
    else:
        print("  not measured")


def form_rows(forms: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Return a row for each case, with the share of the copy in each form, and the fastest form."""
    names = list(dict.fromkeys(name for result in forms for name in result["share_of_copy"]))
    rows = []
    for result in forms:
        shares = result["share_of_copy"]
        cells = [f"{shares[name]:.2f}" if name in shares else "" for name in names]
        rows.append([result["dtype"], result["case"], *cells, max(shares, key=shares.__getitem__, default="")])
    return ["dtype", "case", *names, "fastest"], rows


def _forms(forms: Sequence[Result]) -> None:
    if forms:
        columns, rows = form_rows(forms)
        print("\nshare of the device's copy by the form of the kernels (EP_CUDA_GRID, EP_CUDA_STORES):")
        output.table(columns, rows, right=columns[2:-1])
    wrong = [result for result in forms if result["wrong"]]
    _lines([f"WRONG {_name(result)}: {result['wrong']['ep']}" for result in wrong])


def targets(document: dict[str, Any]) -> list[Target]:
    """Return every target."""
    results: list[Result] = document["results"]
    found = []
    ratios = [r["ratio"] for r in results if _rated(r)]
    found.append(_least(f"every case {WANTED_RATIO} of the best peer from 2^20 elements on", ratios, WANTED_RATIO))
    what = f"geometric mean of these ratios {WANTED_MEAN}"
    mean = geometric_mean(ratios)
    met = None if mean is None else mean >= WANTED_MEAN
    found.append(Target(what, "-" if mean is None else f"{mean:.2f}", met))
    for name in dict.fromkeys(n for calls in document["overhead"].values() for n in calls if n.startswith("ep, ")):
        most = max(calls[name] for calls in document["overhead"].values() if name in calls)
        text = f"{most:.2f} us at most"
        found.append(Target(f"a launch from Python, {name[4:]}: 5 us", text, most <= WANTED_MICROSECONDS))
    if not document["overhead"]:
        found.append(Target("a launch from Python: 5 us", "-", None))
    graph = document["graph"]
    text = "-"
    if graph:
        text = f"{graph['host_us_per_launch']:.2f} us each in Python, {graph['device_us_per_launch']:.2f} on the device"
    found.append(Target("launches are captured in a graph and replayed", text, graph.get("replay_computes")))
    return found


def _least(what: str, values: Sequence[float], wanted: float) -> Target:
    if not values:
        return Target(what, "-", None)
    reached = sum(value >= wanted for value in values)
    text = f"least {min(values):.2f}, mean {geometric_mean(values):.2f}, {reached} of {len(values)} cases"
    return Target(what, text, min(values) >= wanted)


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean; None if there are no values."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else None


def behind(results: Iterable[Result]) -> list[Result]:
    """Return the cases in which a peer is faster, the worst first."""
    return sorted((r for r in results if _rated(r) and r["ratio"] < WANTED_RATIO), key=lambda r: r["ratio"])


def below_copy(results: Iterable[Result]) -> list[Result]:
    """Return the cases that should run at the speed of a copy and do not, the worst first."""
    found = (r for r in results if _shares(r) and r["kind"] in AT_COPY_SPEED and r["share_of_copy"] < WANTED_SHARE)
    return sorted(found, key=lambda r: r["share_of_copy"])


def _rated(result: Result) -> bool:
    return result["ratio"] is not None and result["size"] >= RATED_FROM


def _shares(result: Result) -> bool:
    return result["share_of_copy"] is not None and result["size"] >= SHARE_FROM


def grid(results: Sequence[Result], value: str) -> tuple[list[str], list[list[str]]]:
    """Return geometric means of `ratio` or `share_of_copy`: a row for each kind and dtype, a column for each size."""
    valued = [result for result in results if result[value]]
    sizes = sorted({result["size"] for result in valued})
    rows = []
    for dtype in dict.fromkeys(result["dtype"] for result in valued):
        for kind in dict.fromkeys(result["kind"] for result in valued):
            row = [[r for r in valued if (r["dtype"], r["kind"], r["size"]) == (dtype, kind, n)] for n in sizes]
            if any(row):
                rows.append([dtype, kind, *(_cell(cases, value) for cases in row)])
    return ["dtype", "kind", *map(_power, sizes)], rows


def _cell(cases: Sequence[Result], value: str) -> str:
    mean = geometric_mean(result[value] for result in cases)
    bound = sum("ep" in result["launch_bound"] for result in cases) * 2 > len(cases)
    return "" if mean is None else f"{mean:.2f}{'*' if bound else ''}"


def _grids(results: Sequence[Result]) -> None:
    captions = {
        "ratio": "time of the best peer / time of ep, geometric means by elements",
        "share_of_copy": "share of the device's copy of 1 GiB, geometric means by elements, data not in the cache",
    }
    for value, caption in captions.items():
        columns, rows = grid(results, value)
        if rows:
            print(f"\n{caption}:")
            output.table(columns, rows, right=columns[2:])
    if any(result["launch_bound"] for result in results):
        print("* bound by the launch: most of these were queued no faster than the device worked")


def _list(what: str, found: Sequence[Result], value: Any, detail: Any) -> None:
    print(f"\n{what}: {len(found)}")
    _lines([f"{value(result):5.2f}  {_name(result)}: {detail(result)}" for result in found])


def _peer(result: Result) -> str:
    ours, theirs = result["seconds"]["ep"], result["seconds"][result["best_peer"]]
    bound = f", bound by the launch: {', '.join(result['launch_bound'])}" if result["launch_bound"] else ""
    return f"{ours * 1e6:.1f} us, {result['best_peer']} {theirs * 1e6:.1f}{bound}"


def _speed(result: Result) -> str:
    return f"{result['bytes'] / result['seconds']['ep'] / 1e9:.0f} GB/s of {result['copy_gb_per_s']:.0f}"


def _overhead(document: dict[str, Any]) -> None:
    if document["overhead"]:
        print("\nmicroseconds of Python for a launch, on one element:")
        for case, calls in document["overhead"].items():
            print(f"  {case:8} " + ", ".join(f"{name}: {taken:.2f}" for name, taken in calls.items()))


def _wrong(results: Sequence[Result]) -> None:
    """Print each wrong result of ep, and the number of results that peers lack or compute differently."""
    ours = [result for result in results if "ep" in result["wrong"]]
    print(f"\nwrong results of ep: {len(ours)}")
    _lines([f"{_name(result)}: {result['wrong']['ep']}" for result in ours])
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        for name, said in result["wrong"].items():
            if name != "ep":
                why = "differs from ep" if said.startswith("differs") else said
                found.setdefault((name, result["dtype"], why), []).append(result)
    print(f"\ncases that were not timed with a peer: {sum(map(len, found.values()))}")
    _lines(
        [f"{len(of)} with {name}, {dtype}, as {_name(of[0])}: {why}" for (name, dtype, why), of in found.items()],
    )


def _missing(document: dict[str, Any]) -> None:
    lines = [f"{name}: {why}" for name, why in (document["absent_peers"] | document["left_out"]).items()]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in document["not_measured"]:
        groups.setdefault((entry["dtype"], entry["why"]), []).append(entry)
    for (dtype, why), entries in groups.items():
        sizes = ", ".join(_power(size) for size in sorted({entry["size"] for entry in entries}))
        lines.append(f"{text.plural(sum(entry['cases'] for entry in entries), 'case')}, {dtype}, {sizes}: {why}")
    lines += [f"FAILED {entry['what']}: {entry['error']}" for entry in document["failed"]]
    print(f"\nnot measured: {len(lines)}")
    _lines(lines)


def _lines(lines: Sequence[str]) -> None:
    for line in lines[:_MOST_LINES]:
        print(f"  {line}")
    if len(lines) > _MOST_LINES:
        print(f"  ... and {len(lines) - _MOST_LINES} more")


def _name(result: Result) -> str:
    return f"{result['set']} {result['case']}, {result['dtype']}, {_power(result['size'])}"


def _heading(document: dict[str, Any]) -> str:
    device, driver = document["device"], document["driver"]
    peers = ", ".join(f"{name} {version}" for name, version in document["peers"].items()) or "no peers"
    return f"{device['name']}, driver {driver['version'] or '?'}, CUDA {driver['cuda']}, {peers}, {document['date']}"


def _power(size: int) -> str:
    exponent = size.bit_length() - 1
    return f"2^{exponent}" if size == 2**exponent else f"{size:,}"
