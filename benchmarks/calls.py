"""The time of a call of `ep.ops`, compared with the same call of NumPy and PyTorch: 4,096 float32 numbers.

Computing these numbers takes some tenths of a microsecond: the rest is the time to read the call, to make the result
and to launch. A time is the least of many short runs of calls, since other work of the machine can only add to it.
"""

from __future__ import annotations

import gc
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

import ep.ops
from ep.cli import output

Call = Callable[[], object]

_NUMBERS: Final = 4096
_CALLS: Final = 200  # in a run
_RUNS: Final = 300
_SEED: Final = 20
_PEERS: Final = ("numpy", "torch")


def measure(arguments: Namespace) -> dict[str, dict[str, float]]:
    """Return the seconds of each call by library: `ep`, and the requested and installed peers that have the call."""
    calls = {"ep": of_ep()}
    if "numpy" in arguments.peers:
        calls["numpy"] = of_numpy()
    if "torch" in arguments.peers and find_spec("torch") is not None:
        calls["torch"] = _of_torch(arguments.threads)
    return {
        name: {library: _least(of_library[name]) for library, of_library in calls.items() if name in of_library}
        for name in calls["ep"]
    }


def show(measured: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table of microseconds."""
    libraries = ["ep", *(peer for peer in _PEERS if any(peer in of_call for of_call in measured.values()))]
    rows = [
        (name, *(f"{of_call[library] * 1e6:.2f}" if library in of_call else "" for library in libraries))
        for name, of_call in measured.items()
    ]
    title = f"microseconds of a call of ep.ops with {_NUMBERS:,} numbers of float32"
    output.table(("call", *libraries), rows, title, right=libraries)


def _least(call: Call) -> float:
    """Return the seconds of one call in the fastest run."""
    clock, least = time.perf_counter_ns, float("inf")
    for _ in range(_CALLS):
        call()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(_RUNS):
            start = clock()
            for _ in range(_CALLS):
                call()
            least = min(least, clock() - start)
    finally:
        if collecting:
            gc.enable()
    return least / _CALLS / 1e9


def _data() -> dict[str, Any]:
    rng = np.random.default_rng(_SEED)
    x = rng.standard_normal(_NUMBERS).astype(np.float32)
    square = x.reshape(64, 64)
    return {
        "x": x,
        "y": x[::-1].copy(),
        "square": square,
        "row": square[0].copy(),
        "positive": x > 0,
        "indices": rng.integers(0, 64, 64),
        "out": np.empty_like(x),
    }


def of_ep() -> dict[str, Call]:
    """Return the calls of `ep.ops`, by name."""
    o, (x, y, square, row, positive, indices, out) = ep.ops, _data().values()
    return {
        "add(x, y)": lambda: o.add(x, y),
        "add(x, y, out=z)": lambda: o.add(x, y, out=out),
        "add(square, row)": lambda: o.add(square, row),
        "mul(x, 2.5)": lambda: o.mul(x, 2.5),
        "exp(x)": lambda: o.exp(x),
        "leaky_relu(x, 0.5)": lambda: o.leaky_relu(x, 0.5),
        "where(positive, x, y)": lambda: o.where(positive, x, y),
        "where(positive, x, 0.0)": lambda: o.where(positive, x, 0.0),
        "cast(x, float64)": lambda: o.cast(x, np.float64),
        "sum(x)": lambda: o.sum(x),
        "sum(square, axis=1)": lambda: o.sum(square, axis=1),
        "mean(x)": lambda: o.mean(x),
        "softmax(square)": lambda: o.softmax(square),
        "slice(square, 8:40, 0:32)": lambda: o.slice(square, slice(8, 40), slice(0, 32)),
        "permute(square, (1, 0))": lambda: o.permute(square, (1, 0)),
        "expand(row, 64, 64)": lambda: o.expand(row, 64, 64),
        "concat([square, square])": lambda: o.concat([square, square]),
        "gather(square, indices)": lambda: o.gather(square, indices),
        "matmul(square, square)": lambda: o.matmul(square, square),
    }


def of_numpy() -> dict[str, Call]:
    """Return the corresponding calls of NumPy, by name."""
    x, y, square, row, positive, indices, out = _data().values()
    zero, half = np.float32(0), np.float32(0.5)
    return {
        "add(x, y)": lambda: np.add(x, y),
        "add(x, y, out=z)": lambda: np.add(x, y, out=out),
        "add(square, row)": lambda: np.add(square, row),
        "mul(x, 2.5)": lambda: np.multiply(x, 2.5),
        "exp(x)": lambda: np.exp(x),
        "leaky_relu(x, 0.5)": lambda: np.maximum(x, x * half),
        "where(positive, x, y)": lambda: np.where(positive, x, y),
        "where(positive, x, 0.0)": lambda: np.where(positive, x, zero),
        "cast(x, float64)": lambda: x.astype(np.float64),
        "sum(x)": lambda: np.sum(x),
        "sum(square, axis=1)": lambda: np.sum(square, axis=1),
        "mean(x)": lambda: np.mean(x),
        "slice(square, 8:40, 0:32)": lambda: square[8:40, 0:32].copy(),
        "permute(square, (1, 0))": lambda: np.ascontiguousarray(square.T),
        "expand(row, 64, 64)": lambda: np.broadcast_to(row, (64, 64)).copy(),
        "concat([square, square])": lambda: np.concatenate([square, square]),
        "gather(square, indices)": lambda: np.take(square, indices, axis=0),
        "matmul(square, square)": lambda: np.matmul(square, square),
    }


def _of_torch(threads: int) -> dict[str, Call]:
    import torch

    torch.set_num_threads(threads)
    x, y, square, row, positive, indices, out = (torch.from_numpy(value) for value in _data().values())
    functional = torch.nn.functional
    return {
        "add(x, y)": lambda: torch.add(x, y),
        "add(x, y, out=z)": lambda: torch.add(x, y, out=out),
        "add(square, row)": lambda: torch.add(square, row),
        "mul(x, 2.5)": lambda: torch.mul(x, 2.5),
        "exp(x)": lambda: torch.exp(x),
        "leaky_relu(x, 0.5)": lambda: functional.leaky_relu(x, 0.5),
        "where(positive, x, y)": lambda: torch.where(positive, x, y),
        "where(positive, x, 0.0)": lambda: torch.where(positive, x, 0.0),
        "cast(x, float64)": lambda: x.to(torch.float64),
        "sum(x)": lambda: torch.sum(x),
        "sum(square, axis=1)": lambda: torch.sum(square, 1),
        "mean(x)": lambda: torch.mean(x),
        "softmax(square)": lambda: torch.softmax(square, -1),
        "slice(square, 8:40, 0:32)": lambda: square[8:40, 0:32].clone(),
        "permute(square, (1, 0))": lambda: square.T.contiguous(),
        "expand(row, 64, 64)": lambda: row.expand(64, 64).contiguous(),
        "concat([square, square])": lambda: torch.cat([square, square]),
        "gather(square, indices)": lambda: torch.index_select(square, 0, indices),
        "matmul(square, square)": lambda: torch.matmul(square, square),
    }
