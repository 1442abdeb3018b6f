"""The command line of `python -m benchmarks.accuracy`."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.accuracy
from benchmarks.accuracy.arguments import AllFloat32
from benchmarks.accuracy.measure import SLOW_SAMPLES, Accuracy, as_fields, measure, sample_of
from benchmarks.machine import describe
from ep import DeviceType, UnaryOp
from ep.cli import output
from ep.include.data_type import as_data_type
from ep.include.primitive import ElementwiseUnary, registered
from ep.testing import tolerances


def rounding_ops(dtype: np.dtype[Any], device_type: DeviceType) -> list[UnaryOp]:
    """Return the ops on `dtype` whose results are rounded; the other ops only select or move numbers."""
    data_type = as_data_type(dtype)
    return [
        entry.op
        for entry in registered(device_type)
        if entry.interface is ElementwiseUnary
        and entry.dtypes == (data_type, data_type)
        and isinstance(entry.op, UnaryOp)
        and tolerances.unary_ulps(entry.op, dtype.type, tolerances.Library.HOST) > 0
    ]


def show(results: Sequence[Accuracy], seconds: float) -> None:
    """Print the table."""
    names = ["ep", *sorted({e.implementation for result in results for e in result.errors} - {"ep"})]
    figures = [f"{name} {figure}" for name in names for figure in ("max", "mean")]
    rows = []
    for result in results:
        by_name = {e.implementation: e for e in result.errors}
        cells = [f"{result.op}{'*' if result.slow_reference else ''}"]
        for name in names:
            found = by_name.get(name)
            cells += [f"{found.maximum:.3g}", f"{found.mean:.3g}"] if found else ["", ""]
        rows.append([*cells, repr(by_name["ep"].worst_argument)])
    samples = max(result.samples for result in results)
    title = f"{results[0].dtype}: errors in ulps over {samples:,} arguments"
    output.table(["op", *figures, "ep's worst argument"], rows, title, right=figures)
    if any(result.slow_reference for result in results):
        print(f"* the reference is evaluated number by number: {SLOW_SAMPLES:,} arguments")
    if any(UnaryOp[result.op] in tolerances.TERM_BELOW_ZERO for result in results):
        least = ", ".join(f"{op.name} {size:g}" for op, size in tolerances.TERM_BELOW_ZERO.items())
        print(f"below 0, in ulps of at least the number beside the op: {least}")
    print(f"{seconds:.0f} s")


def parse() -> argparse.Namespace:
    """Read the command line."""
    description = (benchmarks.accuracy.__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=description)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--ops", nargs="+", metavar="OP", help="such as kExp; default: all whose results are rounded")
    parser.add_argument("--samples", type=int, default=2**24, help="arguments of each op; default: %(default)s")
    parser.add_argument(
        "--sweep", action="store_true", help="ep alone, on all 2^32 float32 values: minutes for each op"
    )
    parser.add_argument("--device", default="cpu", metavar="TAG", help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found, with machine and versions")
    given = parser.parse_args()
    if unknown := [name for name in given.ops or () if name not in UnaryOp.__members__]:
        parser.error(f"no such op: {', '.join(unknown)}")
    if given.samples < 4:
        parser.error(f"--samples is {given.samples}; it must be at least 4")
    if given.sweep and given.dtype != "float32":
        parser.error("--sweep goes through the float32 values: leave out --dtype float64")
    return given


def main() -> None:
    """Measure and print."""
    given = parse()
    dtype, device_type = np.dtype(given.dtype), DeviceType.FromTag(given.device)
    ops = [UnaryOp[name] for name in given.ops] if given.ops else rounding_ops(dtype, device_type)
    arguments = [AllFloat32() if given.sweep else sample_of(op, dtype, given.samples) for op in ops]
    start, results = time.perf_counter(), []
    processes = multiprocessing.cpu_count()
    with (
        ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool,
        output.progress("pieces", sum(each.num_pieces for each in arguments)) as advance,
    ):
        for op, each in zip(ops, arguments, strict=True):
            results.append(measure(op, each, given.device, not given.sweep, pool, advance))
    show(results, time.perf_counter() - start)
    if given.json:
        document = describe(processes) | {"samples": given.samples, "sweep": given.sweep, "results": as_fields(results)}
        given.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
