"""The time of a launch on the host, without a GPU: `python -m benchmarks.gpu.host`.

The driver's library is replaced by a compiled one that does nothing at a launch. The figures are microseconds of the
thread's processor time, the median of several runs: the time of the package, and of NVIDIA's bindings where a launch
uses them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import ep.ops
from ep import AllocationOptions, BinaryOp, DeviceManagerRegistry, DeviceType, ReduceOp, RequirePrimitive, UnaryOp
from ep.cuda.device.stream import CudaStream
from ep.include import primitive as p

_RUNS: Final = 7
_CALLS: Final = 1000
_ON_THE_STAND_IN: Final = "EP_ON_STUB_DRIVER"


class _OfDefaultStream:
    """An array of another library that works on the default stream."""

    def __init__(self, buffer: Any) -> None:
        self.__cuda_array_interface__ = {**buffer.__cuda_array_interface__, "stream": 1}


def launches() -> Mapping[str, Callable[[], object]]:
    """Return the launches that are timed, by name; the second stream is created at its first launch."""
    cuda = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
    cuda.SetAsActiveDevice()
    stream = cuda.CreateStream()

    def buffer(count: int, dtype: str) -> Any:
        return cuda.Alloc(AllocationOptions(), count * np.dtype(dtype).itemsize).view(dtype)

    def primitive(factory: Any, *key: Any) -> Any:
        return RequirePrimitive(factory, DeviceType.kCUDA, *key)

    x, y, out, ids = buffer(1024, "float32"), buffer(1024, "float32"), buffer(1024, "float32"), buffer(16, "int64")
    many, one = buffer(2**20, "float32"), buffer(1, "float32")
    relu = primitive(p.ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")
    add = primitive(p.BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "float32", "float32", 2)
    gather = primitive(p.GatherFactory, "float32", "int64")
    softmax = primitive(p.SoftmaxFactory, "float32")
    total = primitive(p.ReduceFactory, ReduceOp.kSum, "float32", 2)
    segments = primitive(p.UnsortedSegmentSumFactory, "float32", "int64")
    theirs = _OfDefaultStream(x), _OfDefaultStream(out)
    array = ep.ops.copy_to_device(np.ones(1024, np.float32), DeviceType.kCUDA)
    more: list[Any] = []

    def with_two_streams() -> object:
        if not more:
            more.append(cuda.CreateStream())
        return ep.ops.relu(array)

    return {
        "relu": lambda: relu.Launch(stream, x, out, 1024),
        "add": lambda: add.Launch(stream, (4, 256), x, (4, 256), y, out),
        "gather": lambda: gather.Launch(stream, 1, 64, 16, x, 16, ids, out),
        "softmax": lambda: softmax.Launch(stream, 4, 256, x, out),
        "sum of 2^20, in two stages": lambda: total.Launch(stream, (1, 2**20), many, (1,), one),
        "segment sum of 16 ids": lambda: segments.Launch(stream, 1, 64, 16, x, 16, ids, out),
        "relu of arrays of the default stream": lambda: relu.Launch(stream, *theirs, 1024),
        "relu on from_handle(1), each time": lambda: relu.Launch(CudaStream.from_handle(1, 0), x, out, 1024),
        "ops.relu": lambda: ep.ops.relu(array),
        "ops.relu with two streams": with_two_streams,
    }


def microseconds(launch: Callable[[], object]) -> float:
    """Return the thread's processor time of a launch."""
    for _ in range(_CALLS // 10):
        launch()
    taken = []
    for _ in range(_RUNS):
        begin = time.thread_time_ns()
        for _ in range(_CALLS):
            launch()
        taken.append((time.thread_time_ns() - begin) / _CALLS / 1000)
    return statistics.median(taken)


def main() -> int:
    """Print the table; return the exit status."""
    if _ON_THE_STAND_IN in os.environ:
        for name, launch in launches().items():
            print(f"{microseconds(launch):8.1f} us  {name}", flush=True)
        return 0
    from tests.cuda.stub import build

    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        here = os.environ | {"LD_LIBRARY_PATH": folder, _ON_THE_STAND_IN: "1"}
        return subprocess.run([sys.executable, "-m", "benchmarks.gpu.host"], env=here, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
