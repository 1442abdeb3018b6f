"""The overhead of a fused function: the trace, and each call. `python -m benchmarks.tracing`.

The figures are microseconds of processor time, the least of many runs, with arrays so small that their kernels take
almost no time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import ep
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.cli import output
from ep.expressions.array import LazyArray
from ep.expressions.program import Program
from ep.expressions.trace import Trace
from ep.include.primitive import ExpressionFactory
from ep.ops.devices import arrays_of

_RUNS: Final = 60
_CALLS: Final = 500
_SHAPE: Final = (16, 16)
_ASSIGNMENTS: Final = 10


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    """Return rows of mean 0 and variance 1, scaled and shifted."""
    d = x - ep.ops.mean(x, -1, keepdims=True)
    return d * ep.ops.rsqrt(ep.ops.mean(d * d, -1, keepdims=True) + 1e-5) * w + b


def perceptron(x: Any, w: Any, b: Any) -> Any:
    """Return the cross-entropy of a product with a bias, of rows whose class is the first."""
    return -ep.ops.mean(ep.ops.log_softmax(ep.ops.gelu(x @ w + b))[:, 0])


def chain(x: Any, w: Any, b: Any) -> Any:
    """Return x after 30 maps of two operands."""
    for _ in range(10):
        x = (x * w - b) * 0.5
    return x


_TRACED: Final = {
    "layer norm": layer_norm,
    "perceptron": perceptron,
    "perceptron and gradients": ep.value_and_grad(perceptron, by=(0, 1, 2)),
    "chain of maps": chain,
}
_CALLED: Final = {
    "x * w + b": lambda x, w, b: x * w + b,
    "x * number + b": lambda x, number, b: x * number + b,
    "x * w, x + b": lambda x, w, b: (x * w, x + b),
}


def main() -> None:
    """Print both tables."""
    x, w, b = np.random.default_rng(20).standard_normal((3, *_SHAPE)).astype(np.float32)
    traced = [(name, *_of_trace(function, (x, w, b))) for name, function in _TRACED.items()]
    output.table(("function", "values", "us a value"), traced, "what a trace costs", right=("values", "us a value"))
    called = [(name, *_of_call(one, (x, 0.5 if "number" in name else w, b))) for name, one in _CALLED.items()]
    output.table(("function", "Launch", "call"), called, "what a call costs, in us", right=("Launch", "call"))
    print(f"a block of {_ASSIGNMENTS} assignments that is known: {_of_block(same=True) * 1e6:.1f} us")
    print(f"the same with new arrays in each block: {_of_block(same=False) * 1e6:.1f} us")


def _traced(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Trace, Any]:
    """Return a trace of a function of arrays and numbers, and the function's result."""
    arrays = [np.asarray(one, np.float32) for one in arguments]
    trace = Trace(arrays_of(arrays, ["array"] * len(arrays)), "a function", LazyArray, numbers_vary=False)
    return trace, function(*(trace.give(one, one.shape, one.dtype) for one in arrays))


def _of_trace(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[str, str]:
    """Return the number of values of a trace, and the microseconds per value."""
    count = len(_traced(function, arguments)[0].nodes)
    return str(count), f"{_least(lambda: _traced(function, arguments), 1) * 1e6 / count:.2f}"


def _of_call(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[str, str]:
    """Return the microseconds of the Launch in a call, and of the call."""
    trace, value = _traced(function, arguments)
    results = [one.node.position for one in (value if isinstance(value, tuple) else (value,))]
    (group,) = Program(trace, results).schedule.groups
    kernel = RequirePrimitive(ExpressionFactory, DeviceType.kCPU, group.structure)
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    written = [np.empty(_SHAPE, np.float32) for _ in results]
    read = [np.asarray(trace.given[one], np.float32) for one in group.sources]
    fused = ep.fuse(function)
    launch = _least(lambda: kernel.Launch(stream, written, read), _CALLS)
    return f"{launch * 1e6:.2f}", f"{_least(lambda: fused(*arguments), _CALLS) * 1e6:.2f}"


def _of_block(*, same: bool) -> float:
    """Return the seconds of a block of assignments that was traced before, with its kernel.

    same: whether the arrays of all blocks are the same objects.
    """
    memory = np.random.default_rng(20).standard_normal((_ASSIGNMENTS, *_SHAPE)).astype(np.float32)
    arrays = [*memory] if same else memory  # iteration makes new arrays

    def block() -> None:
        with ep.lazy() as lazy:
            views = [lazy.view(one) for one in arrays]
            for one, other in zip(views, views[1:] + views[:1], strict=True):
                one[...] = one * 0.5 + other

    return _least(block, max(_CALLS // 10, 1))


def _least(function: Callable[[], object], count: int) -> float:
    """Return the seconds of processor time of a call in the fastest run."""
    function()
    collecting, least = gc.isenabled(), float("inf")
    gc.disable()
    try:
        for _ in range(_RUNS):
            start = time.thread_time()
            for _ in range(count):
                function()
            least = min(least, time.thread_time() - start)
    finally:
        if collecting:
            gc.enable()
    return least / count


if __name__ == "__main__":
    main()
