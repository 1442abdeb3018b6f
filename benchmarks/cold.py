"""The time to compile keys with an empty cache: `python -m benchmarks.cold`.

Each primitive has a process of its own. Its first key includes the code that all keys share: the entry, the walk, the
threads. Code that only some ops share is included in the first such op: sin, cos and tan have a task in common. Without
filters, some keys are measured.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from typing import Any, Final

from ep import BinaryOp, DeviceType, UnaryOp
from ep.cli import output
from ep.cli.filters import add_filters, chosen
from ep.cli.parser import Parser
from ep.cli.warm import make
from ep.include.data_type import DataType
from ep.include.primitive import Entry, registered

_OPS: Final[tuple[UnaryOp | BinaryOp | None, ...]] = (
    *(UnaryOp.kIdentity, UnaryOp.kAbs, UnaryOp.kTanh, UnaryOp.kSin, UnaryOp.kCos, UnaryOp.kAsinh, UnaryOp.kGelu),
    *(UnaryOp.kLgamma, UnaryOp.kDigamma, BinaryOp.kAdd, BinaryOp.kLessThan, BinaryOp.kPow, None),
)
_DTYPES: Final = {DataType.kFloat, DataType.kInt64, DataType.kBool}
_COLUMNS: Final = ("key", "s", "s of the processor", "kernels")


def measure(entries: Sequence[Entry]) -> list[tuple[float, float, int]]:
    """Prepare the keys in turn; return for each the seconds, processor seconds, and number of compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EP_CACHE_DIR"] = folder
        import_module("numba")
        statistics = import_module("ep.cpu.compile.compiler").statistics
        found = []
        for entry in entries:
            primitive: Any = make(entry)
            kernels, start, used = statistics.compiled, time.perf_counter(), time.process_time()
            primitive.Prepare()
            taken = time.perf_counter() - start, time.process_time() - used
            found.append((*taken, statistics.compiled - kernels))
        return found


def main() -> None:
    """Measure and print the keys of the command line."""
    parser = Parser(prog="python -m benchmarks.cold", description=__doc__)
    add_filters(parser)
    arguments = parser.parse_args()
    entries = [entry for entry in chosen(arguments) if entry.device_type is DeviceType.kCPU]
    if not (arguments.primitive or arguments.op or arguments.dtype):
        entries = [entry for entry in entries if entry.op in _OPS and set(entry.dtypes) <= _DTYPES]
    rows = []
    for interface in dict.fromkeys(entry.interface for entry in entries):
        first = next(entry for entry in registered(DeviceType.kCPU) if entry.interface is interface)
        of_one = [first, *(entry for entry in entries if entry.interface is interface and entry != first)]
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            times = pool.submit(measure, of_one).result()
        notes = [" (and what all keys share)", *[""] * len(of_one)]
        rows += [(f"{e}{note}", *taken) for e, note, taken in zip(of_one, notes, times, strict=False)]
    rows.sort(key=lambda row: -row[1])
    cells = [(key, f"{seconds:.3f}", f"{used:.3f}", str(kernels)) for key, seconds, used, kernels in rows]
    output.table(_COLUMNS, cells, right=_COLUMNS[1:])


if __name__ == "__main__":
    main()
