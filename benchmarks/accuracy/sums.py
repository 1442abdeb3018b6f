"""The accuracy of softmaxes, sums and means: `python -m benchmarks.accuracy.sums --json FILE`.

Errors are in ulps of the result, as in the contract: for LogSoftmax, ulps of at least 2^-24 or 2^-53; for gradients,
ulps of the largest term. The exact softmaxes are those of the tests' references, in long double; an exact sum is that
of `math.fsum` plus its rounding error. Results below the smallest normal number are excluded.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.machine import describe
from ep import DeviceType, ReduceOp
from ep.include.data_type import as_data_type
from ep.include.primitive import ReduceFactory
from ep.testing import softmaxes
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.ulps import errors_in_ulps

Array = np.ndarray[Any, Any]
Function = Callable[..., Array]
Figures = dict[str, float]

SEED: Final = 20261122
DTYPES: Final = (np.dtype(np.float32), np.dtype(np.float64))
SPREADS: Final = (1, 5, 20)
COLS: Final = (1, 31, 1024, 50_257, 2**20, 2**22)
LENGTHS: Final = (10, 10**3, 10**6, 10**8)
_ELEMENTS: Final = 2**20
_PIECE: Final = 2**20
_ROWS: Final = {
    "Softmax": (softmaxes.SOFTMAX, "softmax"),
    "LogSoftmax": (softmaxes.LOG_SOFTMAX, "log_softmax"),
    "SoftmaxBackward": (softmaxes.SOFTMAX_BACKWARD, "_softmax_backward_data"),
    "LogSoftmaxBackward": (softmaxes.LOG_SOFTMAX_BACKWARD, "_log_softmax_backward_data"),
}
_ONE_HAS_ALL: Final = (30.0, 0.0, 1.0)


def exact_sum(x: Array) -> np.longdouble:
    """Return the sum of `x` in long double, exact except for that rounding."""
    parts: list[float] = []
    for begin in range(0, x.size, _PIECE):
        parts += _sum_and_rest(x[begin : begin + _PIECE].tolist())
    whole, rest = _sum_and_rest(parts)
    return np.longdouble(whole) + np.longdouble(rest)


def _sum_and_rest(values: list[float]) -> tuple[float, float]:
    whole = math.fsum(values)
    return whole, math.fsum([*values, -whole])


def measure_rows(device: DeviceUnderTest, name: str, dtype: np.dtype[Any], cols: tuple[int, ...]) -> Iterator[Any]:
    """Yield the errors of a softmax by the distribution of its logits."""
    tested, torch_name = _ROWS[name]
    functions = dict(_row_functions(device, name, dtype, torch_name))
    rng, data_type = np.random.default_rng(SEED), as_data_type(dtype)
    for spread in SPREADS:
        cases = (tested.draw(rng, data_type, min(max(_ELEMENTS // count, 1), 2**14), count, spread) for count in cols)
        yield _result(name, dtype, f"N(0, {spread})", _errors_of_rows(tested, functions, cases))
    if len(tested.operands) == 1:
        case = [np.array([_ONE_HAS_ALL], dtype)]
        yield _result(name, dtype, "(30, 0, 1)", _errors_of_rows(tested, functions, [case]))


def _row_functions(device: DeviceUnderTest, name: str, dtype: np.dtype[Any], torch_name: str) -> Iterator[Any]:
    tested, data_type = _ROWS[name][0], as_data_type(dtype)
    yield "ep", lambda *sources: softmaxes.launch(device, tested, data_type, list(sources))
    if find_spec("torch") is not None:
        import torch

        function = getattr(torch, torch_name)

        def launch(*sources: Array) -> Array:
            tensors = [torch.from_numpy(source) for source in sources]
            if len(tensors) == 1:
                return np.asarray(function(tensors[0], 1).numpy())
            y, dy = tensors
            return np.asarray(function(dy, y, 1, y.dtype).numpy())

        yield "torch", launch


def _errors_of_rows(tested: softmaxes.RowPrimitive, functions: dict[str, Function], cases: Any) -> dict[str, Figures]:
    found: dict[str, list[Array]] = {name: [] for name in functions}
    for sources in cases:
        want, term = tested.exact(*sources)
        counted = np.maximum(np.abs(want), term) >= float(np.finfo(sources[0].dtype).tiny)
        for name, function in functions.items():
            found[name].append(errors_in_ulps(function(*sources), want, term)[counted])
    return {name: _figures(np.concatenate(errors)) for name, errors in found.items()}


def measure_sums(device: DeviceUnderTest, dtype: np.dtype[Any], lengths: tuple[int, ...]) -> Iterator[Any]:
    """Yield the errors of kSum and kMean of `lengths` numbers from [0, 1)."""
    rng = np.random.default_rng(SEED)
    for length in lengths:
        x = rng.random(length, dtype)
        total = exact_sum(x)
        for op, want in ((ReduceOp.kSum, total), (ReduceOp.kMean, total / length)):
            found = {
                name: _figures(errors_in_ulps(np.asarray(function(x), dtype).reshape(1), np.array([want])))
                for name, function in _sum_functions(device, op, dtype)
            }
            yield _result(f"Reduce {op.name}", dtype, f"{length:,}", found)


def _sum_functions(device: DeviceUnderTest, op: ReduceOp, dtype: np.dtype[Any]) -> Iterator[tuple[str, Function]]:
    primitive, data_type = device.require(ReduceFactory, op, dtype, 1), as_data_type(dtype)

    def launch(x: Array) -> Array:
        dst = device.filled(1, data_type)
        primitive.Launch(device.stream, x.shape, device.buffer(x), (0,), dst)
        return device.array(dst)

    name = "sum" if op is ReduceOp.kSum else "mean"
    yield "ep", launch
    yield "numpy", getattr(np, name)
    if find_spec("torch") is not None:
        import torch

        yield "torch", lambda x: getattr(torch, name)(torch.from_numpy(x)).numpy()


def _figures(errors: Array) -> Figures:
    return {"maximum": float(errors.max()), "mean": float(errors.mean())}


def _result(name: str, dtype: np.dtype[Any], of: str, errors: dict[str, Figures]) -> dict[str, Any]:
    told = ", ".join(f"{by} {each['maximum']:.3g}" for by, each in errors.items())
    print(f"{name} of {of} in {dtype}: at most {told} ulp", flush=True)
    return {"name": name, "dtype": dtype.name, "of": of, "errors": errors}


def main() -> None:
    """Measure and print."""
    description = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.sums", description=description)
    parser.add_argument("--cols", type=int, nargs="+", default=COLS, help="of softmaxes; default: %(default)s")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="of sums; default: %(default)s")
    parser.add_argument("--device", default="cpu", metavar="TAG", help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found, with machine and versions")
    given = parser.parse_args()
    device = DeviceUnderTest(DeviceType.FromTag(given.device))
    cols, lengths, results = tuple(given.cols), tuple(given.lengths), list[Any]()
    for dtype in DTYPES:
        for name in _ROWS:
            results += measure_rows(device, name, dtype, cols)
        results += measure_sums(device, dtype, lengths)
    if given.json:
        document = describe(1) | {"cols": cols, "lengths": lengths, "results": results}
        given.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
