"""Time the primitives against NumPy on this machine.

Both sides write into memory that is allocated beforehand, take turns, and are compared before they are timed; times
are medians. On a GPU they are the GPU's own, of launches back to back on data that is there already. Bandwidth counts
what has to be read and written at least, and is compared with a copy of as many elements. 'ep demo' shows larger,
real-looking work.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any, Final

from ep.bench.cases import Case, bench_cases, copy
from ep.bench.trial import set_up
from ep.cli import names, output, present
from ep.cli.parser import CommandError, Parser
from ep.include.device import Device

SIZES: Final = {"small": 2**12, "medium": 2**20, "large": 2**24}
_SECONDS: Final = 0.4
_COLUMNS: Final = ("primitive", "case", "ep us", "NumPy us", "faster", "GB/s", "of copy", "check")


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
    """Time the chosen cases on the chosen devices; 1 where a result is wrong."""
    count = SIZES[arguments.size]
    cases = [
        case for case in bench_cases(count) if arguments.primitive is None or case.primitive in arguments.primitive
    ]
    if not cases:
        names_of_cases = dict.fromkeys(case.primitive.__name__ for case in bench_cases(count))
        raise CommandError(f"only {', '.join(names_of_cases)} have cases to time")
    measured = [_measure_device(device, count, cases) for device in present.devices(arguments.device)]
    if arguments.format == "json":
        output.as_json({"size": arguments.size, "elements": count, "devices": measured})
    else:
        for result in measured:
            _print(result, count)
    return 0 if all(row["right"] for result in measured for row in result["cases"]) else 1


def _measure_device(device: Device, count: int, cases: Sequence[Case]) -> dict[str, Any]:
    copied = _measure(copy(count), device)
    return {
        "device": present.label(device),
        "copy_gb_per_s": copied["gb_per_s"],
        "cases": [
            row | {"share_of_copy": row["gb_per_s"] / copied["gb_per_s"]}
            for row in (_measure(case, device) for case in cases)
        ],
    }


def _measure(case: Case, device: Device) -> dict[str, Any]:
    trial = set_up(case, device, names.factory_of(case.primitive))
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
            f"{row['ep_seconds'] * 1e6:,.1f}",
            f"{row['numpy_seconds'] * 1e6:,.1f}",
            f"{row['numpy_seconds'] / row['ep_seconds']:.1f}x",
            f"{row['gb_per_s']:.1f}",
            f"{row['share_of_copy']:.0%}",
            "ok" if row["right"] else "fail",
        )
        for row in result["cases"]
    ]
    title = (
        f"{result['device']}: results of about {count:,} elements; a copy runs at {result['copy_gb_per_s']:.1f} GB/s"
    )
    output.table(_COLUMNS, rows, title, right=_COLUMNS[2:7])
