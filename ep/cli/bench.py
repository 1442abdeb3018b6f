"""Time the primitives against NumPy on this machine, or a model.

Both sides write into memory that is allocated beforehand, take turns, and are compared before they are timed; times are
medians. On a GPU, times are measured by the GPU's clock, for back-to-back launches on data in its memory. Bandwidth
counts the least bytes that have to be read and written, and is compared with a copy of the same number of elements if
the device has one. 'ep demo' runs larger, more realistic work.

  ep bench --primitive reduce --plot reduce.svg

draws the bandwidth for results of 1,024 to 16,777,216 elements instead, with a line for each device and for NumPy.

  ep bench --onnx model.onnx --shape bytes=1,2048

times an ONNX model on random inputs instead, on the CPU or with --device elsewhere, and compares it with ONNX Runtime
if that is installed, on equally many threads. Sizes that are free are 1, unless --shape gives them. It needs the extra
onnx.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from ep.bench.case import Case
from ep.bench.cases import bench_cases, copy
from ep.bench.plot import Point, check_path, draw
from ep.bench.trial import Trial
from ep.cli import bench_model, models, names, output, present, text
from ep.cli.case_coverage import Coverage, why_nothing_ran
from ep.cli.parser import CommandError, Parser, WrongArgumentError
from ep.include.device import Device

SIZES: Final = {"small": 2**12, "medium": 2**20, "large": 2**24}
_PLOTTED: Final = tuple(2**exponent for exponent in range(10, 25, 2))
_SECONDS: Final = 0.4


def add_arguments(parser: Parser) -> None:
    """Add the options of `ep bench`."""
    parser.add_argument("--primitive", type=names.primitive, action="append", help="such as Gather (default: all)")
    sizes = ", ".join(f"{name} {count:,}" for name, count in SIZES.items())
    parser.add_argument(
        "--size", choices=SIZES, default="medium", help=f"elements of a result: {sizes} (default: medium)"
    )
    parser.add_argument("--device", type=names.device_type, action="append", help="such as cpu (default: all present)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw bandwidth by size: .svg, .png or .pdf")
    parser.add_argument("--onnx", type=Path, metavar="MODEL", help="time this model instead")
    models.add_shape(parser)
    models.add_otherwise(parser)
    output.add_format(parser, "table", "json")


def run(arguments: Namespace) -> int:
    """Time the chosen cases on the chosen devices; return 1 if a result is wrong, or nothing was run."""
    if arguments.onnx:
        for option, value in (("--primitive", arguments.primitive), ("--plot", arguments.plot)):
            if value:
                raise WrongArgumentError(f"{option} is for primitives, and --onnx gives a model")
        return bench_model.run(arguments)
    for option, value in (("--shape", arguments.shape), ("--otherwise", arguments.otherwise)):
        if value:
            raise WrongArgumentError(f"{option} is for a model: give --onnx, too")
    if arguments.plot:
        return _plot(arguments)
    count = SIZES[arguments.size]
    coverages, measured = [], []
    for device in present.devices(arguments.device):
        coverages.append(_coverage(arguments, device, count))
        measured.append(_measure_device(coverages[-1], count))
        if arguments.format == "table" and measured[-1]["cases"]:
            if len(measured) > 1:
                print()
            _print(measured[-1], count)
    status = _status(arguments, coverages, measured)
    if arguments.format == "json":
        output.as_json({"size": arguments.size, "elements": count, "devices": measured})
    return status


def _plot(arguments: Namespace) -> int:
    """Time the chosen cases at all sizes, and draw a panel for each."""
    path, devices = arguments.plot, present.devices(arguments.device)
    try:
        check_path(path)
    except (ImportError, ValueError) as error:
        raise CommandError(f"--plot: {error}") from None
    coverages, measured = [], []
    points: dict[str, dict[int, dict[str, float]]] = {}  # by case and bytes, the seconds of each line
    copies: dict[str, float] = {}
    with output.progress("sizes", len(devices) * len(_PLOTTED)) as advance:
        for device in devices:
            for count in _PLOTTED:
                coverages.append(_coverage(arguments, device, count))
                measured.append(_measure_device(coverages[-1], count))
                for row in measured[-1]["cases"]:
                    of_case = points.setdefault(f"{row['primitive']}: {row['case']}", {})
                    lines = of_case.setdefault(row["bytes"], {})
                    lines |= {f"ep, {coverages[-1].label}": row["ep_seconds"], "numpy": row["numpy_seconds"]}
                advance(1)
            if speed := measured[-1]["copy_gb_per_s"]:
                copies[f"copy of {count:,} elements, {coverages[-1].label}"] = speed
    status = _status(arguments, coverages, measured)
    panels = {case: [Point(*point) for point in sorted(of_case.items())] for case, of_case in points.items()}
    draw(panels, copies, f"results of {_PLOTTED[0]:,} to {_PLOTTED[-1]:,} elements", path)
    print(f"{path}: {text.plural(len(panels), 'case')}")
    return status


def _coverage(arguments: Namespace, device: Device, count: int) -> Coverage:
    """Return the chosen cases of about `count` elements on a device; CommandError if there are none."""
    cases = [
        case for case in bench_cases(count) if arguments.primitive is None or case.primitive in arguments.primitive
    ]
    if not cases:
        names_of_cases = dict.fromkeys(case.primitive.__name__ for case in bench_cases(count))
        raise CommandError(f"only {', '.join(names_of_cases)} have cases to time")
    return Coverage(device, cases, chosen=arguments.primitive is not None)


def _status(arguments: Namespace, coverages: list[Coverage], measured: list[dict[str, Any]]) -> int:
    """Print the cases left out and the failures; return 1 if a result is wrong or a case failed, else 0."""
    if why := why_nothing_ran(coverages):
        raise CommandError(why)
    for left_out in dict.fromkeys(coverage.in_words() for coverage in coverages):
        if left_out:
            output.note(left_out)
    for coverage in coverages:
        for failure in coverage.failures:
            print(f"{arguments.prog}: {coverage.label}: {failure}", file=sys.stderr)
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
        "bytes": case.bytes_moved,
        "ep_seconds": times["ep"].median,
        "ep_quartiles": [times["ep"].lower, times["ep"].upper],
        "numpy_seconds": times["numpy"].median,
        "numpy_quartiles": [times["numpy"].lower, times["numpy"].upper],
        "gb_per_s": case.bytes_moved / times["ep"].median / 1e9,
        "right": trial.is_right,
    }


def _print(result: dict[str, Any], count: int) -> None:
    cases = result["cases"]
    unit, times = text.column([row[one] for row in cases for one in ("ep_seconds", "numpy_seconds")])
    rows = [
        (
            names.short_name(names.INTERFACES[row["primitive"]]),
            row["case"],
            *pair,
            f"{row['numpy_seconds'] / row['ep_seconds']:.1f}x",
            f"{row['gb_per_s']:.1f}",
            "-" if row["share_of_copy"] is None else f"{row['share_of_copy']:.0%}",
            "ok" if row["right"] else "fail",
        )
        for row, pair in zip(cases, zip(times[::2], times[1::2], strict=True), strict=True)
    ]
    copied = result["copy_gb_per_s"]
    beside = "it has no copy to compare with" if copied is None else f"a copy runs at {copied:.1f} GB/s"
    columns = ("primitive", "case", f"ep, {unit}", f"NumPy, {unit}", "faster", "GB/s", "of copy", "check")
    title = f"{result['device']}: results of about {count:,} elements; {beside}"
    output.table(columns, rows, title, right=columns[2:7])
