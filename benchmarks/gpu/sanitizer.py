"""Twenty kernels under NVIDIA's compute-sanitizer, which finds races and accesses out of bounds on a GPU.

`python -m benchmarks.gpu.sanitizer` launches the twenty once each, and compares the results with NumPy's: this is the
process that compute-sanitizer watches.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, ReduceOp, UnaryOp
from ep.bench import numpy_ways
from ep.bench.builders import batch_gather, binary, expand, gather, unary
from ep.bench.builders_map import add, cast, one_hot, transpose, where
from ep.bench.builders_move import cut, pad, permute
from ep.bench.builders_reduce import reduce, segment_sum, softmax
from ep.bench.case import Case
from ep.bench.trial import set_up
from ep.cli.names import factory_of

TOOLS: Final = ("memcheck", "racecheck", "synccheck")
_ROOT: Final = Path(__file__).resolve().parents[2]
_FAILED: Final = 99
"""The exit code of compute-sanitizer if it finds an error."""


def cases() -> Iterator[Case]:
    """Yield twenty cases: of each engine, with odd sizes and all widths of elements."""
    half, byte, plus = np.dtype(ml_dtypes.bfloat16), np.dtype(np.int8), numpy_ways.BINARY[BinaryOp.kAdd]
    sums = partial(reduce, op=ReduceOp.kSum)
    yield unary("relu", UnaryOp.kRelu, (4099,), numpy_ways.relu)
    yield unary("abs of bytes", UnaryOp.kAbs, (4099,), numpy_ways.UNARY[UnaryOp.kAbs], dtype=byte)
    yield binary("add", BinaryOp.kAdd, (67, 131), (131,), plus)
    yield cast("cast", (67, 131), np.float32, half)
    yield transpose("cast of a transpose", 67, 131, np.float32, half)
    yield where("where", (67, 131), (67, 131), (131,))
    yield add("add 17", 17, (67, 131))
    yield one_hot("one hot", 131, 67)
    yield gather("gather", 100, 67, 50)
    yield batch_gather("batch gather", 5, 20, 33, 9)
    yield expand("expand", (1, 1001), (9, 1001), byte)
    yield permute("permute", (65, 131), (1, 0))
    yield pad("pad", (2, 3, 33, 35), (0, 0, 1, 1), (0, 0, 1, 1), byte)
    yield cut("cut", (30, 131), (1, 3), (27, 125))
    yield softmax("softmax in registers", 9, 197)
    yield softmax("softmax in shared memory", 3, 5003, half)
    yield softmax("softmax in parts", 1, 60_001)
    yield sums("sum of rows", dims=(64, 577), axes=(1,))
    yield sums("sum of columns", dims=(577, 67), axes=(0,))
    yield segment_sum("sum of segments", 5000, 9, 67)


def run(seconds: float) -> dict[str, Any]:
    """Run the twenty under each tool, for a number of seconds at most; the verdicts, by tool."""
    program = shutil.which("compute-sanitizer")
    if program is None:
        return dict.fromkeys(TOOLS, "not run: compute-sanitizer is not on the path")
    end, found = time.monotonic() + seconds, {}
    for tool in TOOLS:
        command = [program, "--tool", tool, "--error-exitcode", str(_FAILED), sys.executable]
        found[tool] = _verdict([*command, "-m", "benchmarks.gpu.sanitizer"], end - time.monotonic())
    return found


def _verdict(command: list[str], seconds: float) -> str:
    if seconds <= 0:
        return "not run: no time was left"
    here = os.environ | {"PYTHONPATH": str(_ROOT)}
    try:
        done = subprocess.run(
            command, cwd=_ROOT, env=here, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not run to its end in {seconds:.0f} s"
    summary = re.findall(r"=+ ((?:ERROR|RACECHECK) SUMMARY: .*)", done.stdout)
    said = summary[-1] if summary else (done.stdout + done.stderr).strip().rpartition("\n")[2]
    return f"{'passed' if done.returncode == 0 else 'FAILED'}: {said}"


def main() -> int:
    """Launch the twenty; return 1 if a result is wrong."""
    device, wrong, number = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0), [], 0
    for case in cases():
        number += 1
        if not set_up(case, device, factory_of(case.primitive)).is_right:
            wrong.append(case.name)
    print(f"{number} kernels ran; {f'wrong: {wrong}' if wrong else 'all results are right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
