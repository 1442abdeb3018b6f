"""Time the primitives against NumPy on this machine.

Both sides write into memory that is allocated beforehand, take turns, and are compared before they are timed; times
are medians. On a GPU they are the GPU's own, of launches back to back on data that is there already. Bandwidth counts
what has to be read and written at least, and is compared with a copy of as many elements where the device has one.
'ep demo' shows larger, real-looking work.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any, Final

from ep.bench.cases import Case, bench_cases, copy
from ep.bench.trial import Trial
from ep.cli import names, output, present, text
from ep.cli.coverage import Coverage, why_nothing_ran
from ep.cli.parser import CommandError, Parser

SIZES: Final = {"small": 2**12, "medium": 2**20, "large": 2**24}
_SECONDS: Final = 0.4
_COLUMNS: Final = ("primitive", "case", "ep", "NumPy", "faster", "GB/s", "of copy", "check")


def add_arguments(parser: Parser) -> None:
    """Add the options of `ep bench`."""
    parser.add_argument("--primitive", type=names.primitive, action="append", help="such as Gather (default: all)")
    sizes = ", ".join(f"{name} {count:,}" for name, count in SIZES.items())
    parser.add_argument(
        "--size", choices=SIZES, default="medium", help=f"elements of a result: {sizes} (default: medium)"
    )
    parser.add_argument("--device", type=names.device_type, action="append", help="such as cpu (default: all present)")
    output.add_format(parser, "table", "json")


def run(arguments: Namespace) -> int:
    """Time the chosen cases on the chosen devices; 1 where a result is wrong, or nothing was run."""
    count = SIZES[arguments.size]
    cases = [
        case for case in bench_cases(count) if arguments.primitive is None or case.primitive in arguments.primitive
    ]
    if not cases:
        names_of_cases = dict.fromkeys(case.primitive.__name__ for case in bench_cases(count))
        raise CommandError(f"only {', '.join(names_of_cases)} have cases to time")
    coverages, measured = [], []
    for device in present.devices(arguments.device):
        coverage = Coverage(device, cases, chosen=arguments.primitive is not None)
        coverages.append(coverage)
        measured.append(_measure_device(coverage, count))
        if arguments.format == "table" and measured[-1]["cases"]:
            if len(measured) > 1:
                print()
            _print(measured[-1], count)
    if why := why_nothing_ran(coverages):
        raise CommandError(why)
    for coverage in coverages:
        if left_out := coverage.in_words():
            output.note(left_out)
        for failure in coverage.failures:
            print(f"{arguments.prog}: {coverage.label}: {failure}", file=sys.stderr)
    if arguments.format == "json":
        output.as_json({"size": arguments.size, "elements": count, "devices": measured})
    right = all(row["right"] for result in measured for row in result["cases"])
    return 0 if right and not any(coverage.failures for coverage in coverages) else 1


def _measure_device(coverage: Coverage, count: int) -> dict[str, Any]:
    copies = Coverage(coverage.device, [copy(count)])
    copied = next((row["gb_per_s"] for row in copies.run(_measure)), None)
    return {
        "device": present.label(coverage.device),
        "copy_gb_per_s": copied,
        "cases": [row | {"share_of_copy": copied and row["gb_per_s"] / copied} for row in coverage.run(_measure)],
        "left_out": [{"primitive": case.primitive.__name__, "case": case.name} for case in coverage.left_out],
    }


def _measure(case: Case, trial: Trial) -> dict[str, Any]:
    times = trial.time(_SECONDS)
    return {
        "primitive": case.primitive.__name__,
        "case": case.name,
        "ep_seconds": times["ep"].median,
        "ep_quartiles": [times["ep"].lower, times["ep"].upper],
        "numpy_seconds": times["numpy"].median,
        "numpy_quartiles": [times["numpy"].lower, times["numpy"].upper],
        "gb_per_s": case.bytes_moved / times["ep"].median / 1e9,
        "right": trial.is_right,
    }


def _print(result: dict[str, Any], count: int) -> None:
    rows = [
        (
            names.short_name(names.INTERFACES[row["primitive"]]),
            row["case"],
            *text.times(row["ep_seconds"], row["numpy_seconds"]),
            f"{row['numpy_seconds'] / row['ep_seconds']:.1f}x",
            f"{row['gb_per_s']:.1f}",
            "-" if row["share_of_copy"] is None else f"{row['share_of_copy']:.0%}",
            "ok" if row["right"] else "fail",
        )
        for row in result["cases"]
    ]
    copied = result["copy_gb_per_s"]
    beside = "it has no copy to compare with" if copied is None else f"a copy runs at {copied:.1f} GB/s"
    output.table(
        _COLUMNS, rows, f"{result['device']}: results of about {count:,} elements; {beside}", right=_COLUMNS[2:7]
    )
