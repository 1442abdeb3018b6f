"""The start-up time of a process, the time of one launch, and the memory of launches beyond their buffers."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.cases.sets import SETS
from ep import AllocationOptions, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.bench.case import Case
from ep.bench.timing import interleaved
from ep.cli import output, text
from ep.cli.names import factory_of

_PROCESSES: Final = 5
_F32: Final = np.dtype(np.float32)

_IMPORTS: Final = """
import json, time
import numpy
numpy.zeros(1)
start = time.perf_counter()
import ep
print(json.dumps({"import ep, after numpy": time.perf_counter() - start}))
"""

_LAUNCHES: Final = """
import json, time
import numpy as np
import ep
from ep.include.primitive import ElementwiseUnaryFactory
taken = {}
device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0)
stream = device.CreateStream()
x = np.ones(8, np.float32)
for name, op in (("first launch", ep.UnaryOp.kExp), ("each further kernel", ep.UnaryOp.kTanh)):
    start = time.perf_counter()
    primitive = ep.RequirePrimitive(ElementwiseUnaryFactory, ep.DeviceType.kCPU, op, np.float32, np.float32)
    primitive.Launch(stream, x, np.empty_like(x), 8)
    taken[name] = time.perf_counter() - start
print(json.dumps(taken))
"""

_MEMORY: Final = """
import json, sys
import numpy as np
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from benchmarks.cases.sets import SETS
from ep.cli.names import factory_of

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024

name, wanted = sys.argv[1:]
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
small, large = (next(c for c in SETS[name](n, np.dtype(np.float32)) if c.name == wanted) for n in (2**16, 2**24))
inputs = [np.asarray(array).reshape(-1) for array in large.make(np.random.default_rng(1))]
out = np.zeros(large.out_dims, large.out_type).reshape(-1)
out.fill(1)
primitive = RequirePrimitive(factory_of(small.primitive), DeviceType.kCPU, *small.key)
few = [np.asarray(array).reshape(-1) for array in small.make(np.random.default_rng(1))]
small.bind(primitive, stream, few, np.ones(small.out_dims, small.out_type).reshape(-1))()
primitive = RequirePrimitive(factory_of(large.primitive), DeviceType.kCPU, *large.key)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
large.bind(primitive, stream, inputs, out)()
print(json.dumps(peak() - before))
"""

_MEMORY_CASES: Final = (
    ("unary", "exp"),
    ("binary", "add, row"),
    ("gather", "rows of 64 B"),
    ("batch_gather", "rows of 64 B, 16 batches"),
    ("expand", "alternating axes"),
)


def with_bytecode(folder: Path) -> dict[str, str]:
    """Return an environment in which Python keeps bytecode in `folder`: processes after the first one find it."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def _python(code: str, *arguments: str, **environment: str) -> Any:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment or None, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _medians(runs: list[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def processes() -> dict[str, float]:
    """Return the seconds of imports and first launches, with an empty and with a filled cache."""
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as bytecode:
        kept = with_bytecode(Path(bytecode))
        _python(_LAUNCHES, **kept)
        found = _medians([_python(_IMPORTS, **kept) for _ in range(_PROCESSES)])
        for _ in range(_PROCESSES):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_python(_LAUNCHES, **{**kept, "EP_CACHE_DIR": folder}))
                warm.append(_python(_LAUNCHES, **{**kept, "EP_CACHE_DIR": folder}))
    return {
        **found,
        **{f"{name}, cold": taken for name, taken in _medians(cold).items()},
        **{f"{name}, from the disk cache": taken for name, taken in _medians(warm).items()},
    }


def overheads() -> dict[str, dict[str, float]]:
    """Return the seconds of a launch of one element, with all checks, compared with NumPy's call with `out=`."""
    chosen = {name: next(iter(SETS[name](1, _F32))) for name in ("unary", "binary", "gather", "batch_gather", "expand")}
    found = {}
    for name, case in chosen.items():
        times = interleaved(_calls(case), 0.3)
        found[f"{name}: {case.name}"] = {implementation: timing.median for implementation, timing in times.items()}
    x, out = np.ones(1, _F32), np.empty(1, _F32)
    calls = {"np.exp": partial(np.exp, x, out=out), "np.add": partial(np.add, x, x, out=out)}
    times = interleaved(calls, 0.3)
    return {**found, "NumPy with the keyword out=": {name: timing.median for name, timing in times.items()}}


def _calls(case: Case) -> dict[str, Callable[[], object]]:
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    inputs = [np.ascontiguousarray(array) for array in case.make(np.random.default_rng(1))]
    flat = [array.reshape(-1) for array in inputs]
    out = device.Alloc(AllocationOptions(), case.out_type.itemsize).view(case.out_type)
    primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCPU, *case.key)
    shaped = [array.reshape(shape) for array, shape in zip(flat, (a.shape for a in inputs), strict=True)]
    return {
        "ep": case.bind(primitive, device.CreateStream(), flat, out),
        "numpy": case.numpy(shaped, out.reshape(case.out_dims)),
    }


def memory() -> dict[str, int]:
    """Return the bytes by which a launch of 2^24 elements raises the peak use of memory, if Linux reports it."""
    if not os.path.exists("/proc/self/clear_refs"):
        return {}
    return {f"{name}: {case}": _python(_MEMORY, name, case) for name, case in _MEMORY_CASES}


def measure(arguments: Namespace) -> dict[str, Any]:
    """Return all figures of this module, which measures no peers and reports the number of threads itself."""
    return {"seconds": processes(), "one_element": overheads(), "peak_bytes_beyond_buffers": memory()}


def show(found: Mapping[str, Any]) -> None:
    """Print the figures."""
    print("\nstart-up, medians of new processes:")
    output.facts({name: f"{taken * 1e3:8.1f} ms" for name, taken in found["seconds"].items()})
    print("\none element, checks included:")
    for name, times in found["one_element"].items():
        print(f"{name}: " + ", ".join(f"{who} {taken * 1e6:.2f} us" for who, taken in times.items()))
    if found["peak_bytes_beyond_buffers"]:
        print("\npeak memory of a launch of 2^24 elements beyond its buffers:")
        output.facts({name: text.megabytes(size) for name, size in found["peak_bytes_beyond_buffers"].items()})
