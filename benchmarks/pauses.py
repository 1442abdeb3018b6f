"""Launches after a pause, as in most programs, compared with NumPy and PyTorch after the same pause.

Sleeping threads have to be woken, and the scheduler chooses their processors. So for each launch of ep, the number of
its threads, the number of processors on which they ended, and the time for which they were ready but not running are
recorded. A sample in which the host took a processor away is discarded. With `--repeat`, each run has a process of its
own, because the scheduler may treat all launches of one process alike.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.options import PAUSES
from benchmarks.quiet import wait_for_threads
from benchmarks.scheduling import Scheduled, Threads
from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cli import output
from ep.include import primitive as p
from ep.include.primitive import BlasTransposeType

Call = Callable[[], object]
Found = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
"""For each op, pause and library: the numbers of `_measure`."""

_F32: Final = np.dtype(np.float32)
_SIDE: Final = 1024
_PRODUCT: Final = 512
_SAMPLES: Final = 25
_QUICK_SAMPLES: Final = 5
_TRIES: Final = 4  # for each sample, if the host takes processors away
_SEED: Final = 20
_SECONDS: Final = {"0 ms": 0.0, "1 ms": 1e-3, "20 ms": 2e-2, "100 ms": 0.1}
_AFTER_PRODUCT: Final = "a product of NumPy's"


def measure(arguments: Namespace) -> Found:
    """Return what `_measure` finds for each op, pause and library: of one process, or the medians of several."""
    with _busy_processes(arguments.busy):
        if arguments.repeat == 1:
            return _measure_here(arguments)
        runs = []
        with output.progress("processes", arguments.repeat) as advance:
            for _ in range(arguments.repeat):
                runs.append(_measure_in_a_process(arguments))
                advance(1)
    return _combined(runs)


def _measure_here(arguments: Namespace) -> Found:
    peers, threads = arguments.peers, arguments.threads
    a = np.random.default_rng(_SEED).standard_normal((_SIDE, _SIDE)).astype(_F32)
    libraries = {"ep": _of_ep(a, threads)}
    if "numpy" in peers:
        libraries["numpy"] = _of_numpy(a)
    if "torch" in peers and find_spec("torch") is not None:
        libraries["torch"] = _of_torch(a, threads)
    pauses: dict[str, Call] = {
        name: (lambda seconds=seconds: time.sleep(seconds)) if seconds else (lambda: None)  # type: ignore[misc]
        for name, seconds in _SECONDS.items()
    }
    samples = _QUICK_SAMPLES if arguments.quick else _SAMPLES
    of_product, result = a[:_PRODUCT, :_PRODUCT].copy(), np.empty((_PRODUCT, _PRODUCT), _F32)
    pauses[_AFTER_PRODUCT] = lambda: np.matmul(of_product, of_product, out=result)
    return {
        op: {
            pause: {
                library: _measure(calls[op], before, samples) for library, calls in libraries.items() if op in calls
            }
            for pause, before in pauses.items()
        }
        for op in libraries["ep"]
    }


def show(found: Found) -> None:
    """Print a table: microseconds of each library, and the scheduling of the threads of ep.

    After several processes: the median of their medians, and in parentheses the median of the slowest process.
    """
    libraries = list(
        dict.fromkeys(name for of_op in found.values() for of_pause in of_op.values() for name in of_pause)
    )
    rows = []
    for op, of_op in found.items():
        for pause, of_pause in of_op.items():
            ours = of_pause["ep"]
            times = [_times(of_pause[name]) if name in of_pause else "" for name in libraries]
            rows.append([op, pause, *times, f"{ours['together']:.0%}", f"{ours['waited'] * 1e6:.0f}"])
    columns = ("op", "after", *libraries, "on one processor", "waited")
    title = f"microseconds after a pause: float32, {_SIDE:,} x {_SIDE:,}, products {_PRODUCT} x {_PRODUCT}"
    output.table(columns, rows, title, right=columns[2:])


def _times(found: Mapping[str, float]) -> str:
    of_slowest = f" ({found['slowest'] * 1e6:.0f})" if "slowest" in found else ""
    return f"{found['seconds'] * 1e6:.0f}{of_slowest}"


@contextmanager
def _busy_processes(number: int) -> Iterator[None]:
    """Run processes that only compute, at ordinary priority."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(number):
            started.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _measure_in_a_process(arguments: Namespace) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "pauses.json"
        given = ["--only", PAUSES, "--isa", arguments.isa, "--threads", str(arguments.threads)]
        given += ["--peers", ",".join(arguments.peers), "--json", str(result), *["--quick"][: arguments.quick]]
        subprocess.run([sys.executable, "-m", "benchmarks", *given], check=True, stdout=subprocess.DEVNULL)
        found: Found = json.loads(result.read_text())[PAUSES]
        return found


def _combined(runs: Sequence[Found]) -> Found:
    """Return the medians of several processes, and as `slowest` the seconds of the slowest one."""

    def of(op: str, pause: str, library: str) -> dict[str, float]:
        found = [run[op][pause][library] for run in runs]
        medians = {name: statistics.median(one[name] for one in found) for name in found[0]}
        together = statistics.fmean(one["together"] for one in found)
        return medians | {"together": together, "slowest": max(one["seconds"] for one in found)}

    return {
        op: {pause: {library: of(op, pause, library) for library in of_pause} for pause, of_pause in of_op.items()}
        for op, of_op in runs[0].items()
    }


def _measure(call: Call, pause: Call, wanted: int) -> dict[str, float]:
    """Return the seconds of a call after a pause, and the scheduling of its threads, from samples without steal time.

    seconds: the median.
    together: the share of launches with several threads that all ended on one processor.
    waited: seconds that all threads of a launch were ready to run without a processor, the median.
    stolen: the number of discarded samples; none is discarded if all have steal time.
    """
    clean: list[tuple[float, Scheduled]] = []
    stolen: list[tuple[float, Scheduled]] = []
    wait_for_threads()
    call()
    while len(clean) < wanted and len(clean) + len(stolen) < _TRIES * wanted:
        before = Threads.now()
        pause()
        start = time.perf_counter()
        call()
        taken = time.perf_counter() - start
        scheduled = before.until(Threads.now())
        (stolen if scheduled.stolen else clean).append((taken, scheduled))
    samples = clean or stolen
    shared = [scheduled for _, scheduled in samples if scheduled.threads > 1]
    return {
        "seconds": statistics.median(taken for taken, _ in samples),
        "together": sum(one.processors == 1 for one in shared) / len(shared) if shared else 0.0,
        "waited": statistics.median(scheduled.waited for _, scheduled in samples),
        "stolen": len(stolen),
    }


def _of_ep(a: np.ndarray[Any, Any], threads: int) -> dict[str, Call]:
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    device.SetNumThreads(threads)
    stream, out, size = device.CreateStream(), np.empty_like(a), a.size
    b, n = a[:_PRODUCT, :_PRODUCT].copy(), _PRODUCT
    product = np.empty_like(b)

    def primitive(factory: Any, *key: Any) -> Any:
        return RequirePrimitive(factory, DeviceType.kCPU, *key)

    relu = primitive(p.ElementwiseUnaryFactory, UnaryOp.kRelu, _F32, _F32)
    add = primitive(p.BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, _F32, _F32, 2)
    matmul = primitive(p.MatmulFactory, _F32, BlasTransposeType.N, BlasTransposeType.N)
    softmax = primitive(p.SoftmaxFactory, _F32)
    return {
        "relu": lambda: relu.Launch(stream, a, out, size),
        "add": lambda: add.Launch(stream, a.shape, a, a.shape, a, out),
        "matmul": lambda: matmul.Launch(stream, n, n, n, 1.0, b, b, 0.0, product),
        "softmax": lambda: softmax.Launch(stream, *a.shape, a, out),
    }


def _of_numpy(a: np.ndarray[Any, Any]) -> dict[str, Call]:
    out, b = np.empty_like(a), a[:_PRODUCT, :_PRODUCT].copy()
    product = np.empty_like(b)
    return {
        "relu": lambda: np.maximum(a, 0, out=out),
        "add": lambda: np.add(a, a, out=out),
        "matmul": lambda: np.matmul(b, b, out=product),
    }


def _of_torch(array: np.ndarray[Any, Any], threads: int) -> dict[str, Call]:
    import torch

    torch.set_num_threads(threads)
    a = torch.from_numpy(array)
    out, b = torch.empty_like(a), a[:_PRODUCT, :_PRODUCT].clone()
    product = torch.empty_like(b)
    return {
        "relu": lambda: torch.clamp_min(a, 0, out=out),
        "add": lambda: torch.add(a, a, out=out),
        "matmul": lambda: torch.matmul(b, b, out=product),
        "softmax": lambda: torch.softmax(a, -1, out=out),
    }
