"""A whole benchmark: measure or read the results, then show, write and draw them."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import (
    calls,
    convolutions,
    encoder,
    launches,
    machine,
    norms,
    pauses,
    plot,
    report,
    startup,
    torch_models,
)
from benchmarks.fuse import run as fused
from benchmarks.instructions import HOST, NOT_HELD
from benchmarks.measure import Bench
from benchmarks.options import CALLS, CONV, ENCODER, FUSE, LAUNCHES, NORMS, PAUSES, PLACE, TORCH
from benchmarks.peers import installed_peers
from benchmarks.selection import Selection
from ep.bench.plot import draw
from ep.cli import output
from ep.include.data_type import as_data_type

_WITHOUT_CASES: Final[dict[str, Any]] = {
    **{"startup": startup, LAUNCHES: launches, CALLS: calls, PAUSES: pauses},
    CONV: convolutions,
    NORMS: norms,
    FUSE: fused,
    ENCODER: encoder,
    TORCH: torch_models,
}
"""The groups without cases: the module that measures and shows each."""


def run(arguments: Namespace) -> int:
    """Run the command line; return 1 if a result of ep is wrong."""
    sets = [name for name in arguments.only if name not in _WITHOUT_CASES]
    dtypes = [as_data_type(name).dtype for name in arguments.dtypes]
    selection = Selection(sets, dtypes, arguments.sizes, arguments.quick, arguments.cases)
    if arguments.list:
        for name, size, case in selection:
            print(f"{name}: {case.name}, {case.out_type}, {size:,} elements")
        return 0
    document = _read(arguments.read) if arguments.read else _measure(arguments, selection)
    if arguments.json:
        _write(arguments.json, document)
    results = report.combined(document["runs"])
    if results:
        report.show(results)
    for name, group in _WITHOUT_CASES.items():
        if document.get(name):
            group.show(document[name])
    if results:
        report.summarise(results)
    if arguments.plot:
        title = f"{document['machine']['processor']}, {document['threads']} threads, {document['date'][:10]}"
        copies = {"copy of 128 MiB": max(document["copy_gb_per_s"].values())}
        draw(plot.panels(results), copies, title, arguments.plot)
    return 1 if any("ep" in result["wrong"] for result in results) else 0


def _measure(arguments: Namespace, selection: Selection) -> dict[str, Any]:
    peers = installed_peers(arguments.threads, arguments.peers)
    for peer in peers:
        print(f"{peer.name} {peer.version}" + (f" ({peer.note})" if peer.note else ""))
    if arguments.isa != HOST:
        print(f"all of them with the instructions of {arguments.isa} at most, and so without {', '.join(NOT_HELD)}")
    document = machine.describe(arguments.threads, arguments.isa) | {
        "behind_a_line": arguments.behind,
        "peers": {peer.name: {"version": peer.version, "note": peer.note} for peer in peers},
        "seconds_per_case": arguments.seconds,
        "copy_gb_per_s": {},
        "runs": [],
        **{name: group.measure(arguments) if name in arguments.only else {} for name, group in _WITHOUT_CASES.items()},
    }
    places = sorted({0, arguments.behind})
    cases = [
        (name, size, replace(case, name=f"{case.name}, {place} behind a line") if name == PLACE else case, place)
        for name, size, case in selection
        for place in (places if name == PLACE else [arguments.behind])
    ]
    total = len(cases)
    if total == 0:
        return document
    bench, start = Bench(peers, arguments.threads, arguments.seconds, arguments.behind), time.perf_counter()
    for number in range(arguments.repeat):
        with np.errstate(all="ignore"):
            copies = bench.copy_bandwidth()
        theirs = {name: speed for name, speed in copies.items() if name != "ep"} or copies
        fastest = max(theirs, key=theirs.__getitem__)
        print(f"run {number + 1}: a copy of 128 MiB: " + ", ".join(f"{n} {s:.1f}" for n, s in copies.items()) + " GB/s")
        document["copy_gb_per_s"] = {fastest: theirs[fastest]}
        results = []
        with output.progress(f"cases of run {number + 1}", total) as advance:
            for name, size, case, place in cases:
                results.append({"set": name, "size": size, **bench.measure(case, place)})
                advance(1)
        document["runs"].append(results)
        if arguments.json:  # the results so far
            _write(arguments.json, document)
    print(f"{total:,} cases, {time.perf_counter() - start:.0f} s\n")
    return document


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write JSON, a line for each case; no measurement has more than four significant digits."""
    rest = {name: value for name, value in _rounded(document).items() if name != "runs"}
    runs = ",\n".join(
        "[\n" + ",\n".join(json.dumps(result, separators=(",", ":")) for result in _rounded(run)) + "\n]"
        for run in document["runs"]
    )
    path.write_text(f'{json.dumps(rest, indent=1)[:-2]},\n "runs": [\n{runs}\n]\n}}\n')


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(element) for name, element in value.items()}
    return [_rounded(element) for element in value] if isinstance(value, list) else value


def _read(paths: list[Path]) -> dict[str, Any]:
    """Return the runs of several files in one document that is otherwise the first of them."""
    documents = [json.loads(path.read_text()) for path in paths]
    different = {
        (d["machine"]["processor"], d["threads"], d.get("isa", HOST), d.get("behind_a_line", 0), str(d["versions"]))
        for d in documents
    }
    if len(different) > 1:
        print("warning: the files come from different machines, threads, instructions, versions or places of arrays")
    copies = [document["copy_gb_per_s"] for document in documents]
    merged: dict[str, Any] = documents[0] | {
        "runs": [results for document in documents for results in document["runs"]],
        **{name: next((d[name] for d in documents if d.get(name)), {}) for name in _WITHOUT_CASES},
        "copy_gb_per_s": max(copies, key=lambda found: max(found.values(), default=0)),
    }
    return merged
