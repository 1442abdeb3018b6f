"""Fused functions, operators and models of all kinds that the CPU computes, to see how much stack they need."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import ep
from ep import DeviceType, ops
from ep.cpu.device.runtime import compile_streaming
from ep.cpu.engine.map.strided_lines import strided_lines
from ep.cpu.engine.repeat import known_calls
from ep.cpu.engine.repeat.launch_list import running
from ep.testing.device_under_test import DeviceUnderTest
from tests.fuse import expressions, maps
from tests.stress.calls import few_entries, random_call

FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


class Case(NamedTuple):
    """A function of arrays, and the arrays."""

    function: Callable[..., Any]
    arrays: Sequence[np.ndarray]

    def fused(self) -> Callable[[], Any]:
        """Return a function that computes the case in few launches."""
        function = ep.fuse(self.function)
        return lambda: function(*self.arrays)


def layer_norm(x, w, b):
    centred = x - ops.mean(x, -1, None, True)
    variance = ops.mean(centred * centred, -1, None, True)
    return centred / ops.sqrt(variance + 1e-5) * w + b


def _gradient(softmax):
    return ep.grad(lambda x, y: ops.sum(softmax(x * 2.0) * y, None), by=(0, 1))


def _lookups(x):
    total = x
    for function in (ops.exp, ops.lgamma, ops.erf, ops.tanh, ops.log1p, ops.sigmoid):
        total = total * function(x) + x
    return total


def _many(*arrays):
    """Keep as many values of float64 as there are operands."""
    values = [ops.exp(x) for x in arrays]
    total = values[0]
    for value in values[1:]:
        total = total + value
    for value in values:
        total = total * value
    return total


def _of_type(dtype: Any, rng: np.random.Generator, rows: int, columns: int) -> dict[str, Case]:
    def draw(*dims):
        return rng.normal(size=dims).astype(dtype)

    name, x, y, w = np.dtype(dtype).name, draw(rows, columns), draw(rows, columns), draw(columns)
    images, filters = draw(2, 5, 17, 19), draw(7, 5, 3, 3)
    a, b, c, ids = draw(67, 71), draw(71, 61), draw(61), np.arange(rows) * 7 % 9
    functions: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
        "softmax": (lambda x: ops.softmax(x * 2.0), (x,)),
        "log_softmax": (lambda x: ops.log_softmax(x * 2.0), (x,)),
        "softmax and what follows": (lambda x, y: ops.sum(ops.softmax(x + y) * y, -1), (x, y)),
        "gradient of softmax": (_gradient(ops.softmax), (x, y)),
        "gradient of log_softmax": (_gradient(ops.log_softmax), (x, y)),
        "layer norm": (layer_norm, (x, w, w)),
        "gradient of layer norm": (
            ep.grad(lambda x, w, b: ops.sum(layer_norm(x, w, b) * x, None), by=(0, 1)),
            (x, w, w),
        ),
        "columns": (lambda x, y: ops.sum(x * y, 0), (x, y)),
        "all": (lambda x, y: ops.max(x * y - x, None), (x, y)),
        "product and map": (lambda a, b, c: ops.gelu(a @ b + c), (a, b, c)),
        "product and long map": (lambda a, b, c: _lookups(a @ b + c), (a, b, c)),
        "product and turned map": (lambda a, b, c: ops.relu(a @ b + c).T, (a, b, c)),
        "product and softmax": (lambda a, b, c: ops.softmax(a @ b + c), (a, b, c)),
        "few columns": (lambda a, b, c: ops.tanh(a @ b + c), (draw(301, 40), draw(40, 3), draw(3))),
        "convolution": (lambda x, w: ops.relu(ops.conv(x, w)), (images, filters)),
        "pooled convolution": (lambda x, w: ops.max_pool(ops.relu(ops.conv(x, w)), 2, strides=2), (images, filters)),
        "segments": (lambda x, y, ids: ops.segment_sum(x * y, ids, 9), (x, y, ids)),
        "gathered rows": (lambda x, ids, w: ops.gather(x, ids) * w, (x, ids % rows, w)),
        "long map": (_lookups, (abs(x),)),
        "map of many": (_many, [draw(7, 41) for _ in range(12)]),
        "turned maps": (lambda x, y: (x.T * 2.0 + y.T, x - y), (x, y)),
    }
    return {f"{kind} of {name}": Case(*case) for kind, case in functions.items()}


def fused_cases(
    rng: np.random.Generator, rows: int = 37, columns: int = 54, types: Sequence[Any] = FLOATS
) -> dict[str, Case]:
    """Return fused functions by name."""
    cases: dict[str, Case] = {}
    for dtype in types:
        cases |= _of_type(dtype, rng, rows, columns)
    for name, each in expressions.EXPRESSIONS.items():
        cases[name] = Case(lambda *given, each=each: each.function(ops, *given), each.draw(rng, rows, 2 * columns))
    for name, one in maps.EXPRESSIONS.items():
        cases[f"map {name}"] = Case(lambda *given, one=one: one.function(*given, *one.numbers), one.draw(rng, rows))
    return cases


def launches_of_all(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield launches of each primitive on random arguments, which check their results, with their names."""
    device = DeviceUnderTest(DeviceType.kCPU)
    for entry in few_entries(DeviceType.kCPU):
        call = random_call(rng, device, entry, most=3000)
        primitive = call.make(device)
        expected = call.expected(device, primitive)
        call.launch(device, primitive, rng, expected)
        yield str(call), partial(call.launch, device, primitive, rng, expected)


def run_operators(rng: np.random.Generator) -> None:
    """Launch each primitive."""
    for _, launch in launches_of_all(rng):
        launch()


def prepare_others() -> None:
    """Load what only repeated calls, lists of launches, and launches on large arrays use."""
    compile_streaming()
    strided_lines()
    known_calls._finding()
    running()
