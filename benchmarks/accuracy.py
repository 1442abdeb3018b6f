"""How accurate the unary functions are: errors in units of the last place, over the whole domain, peers beside them.

Run from the root of the sources: `python -m benchmarks.accuracy --dtype float64 --ops kExp kGelu`.

The exact values are those of the tests' references, in long double or, number by number, in mpmath. An error is
|got - exact| in spacings of the type at the exact value; a result beyond the largest number counts as infinity, and the
mean is over the arguments whose exact value is finite.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from ep import DeviceType, UnaryOp
from ep.cli import output
from ep.include.data_type import as_data_type
from ep.include.primitive import ElementwiseUnary, ElementwiseUnaryFactory, registered
from ep.include.primitive.attributes import ATTRIBUTES
from tests import tolerances
from tests.device import DeviceUnderTest
from tests.references.unary import exact
from tests.ulps import errors_in_ulps

SEED = 20240607
SLOW_SAMPLES = 2**12
"""The most arguments of an op whose reference is computed number by number."""

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]

_NUMPY_NAMES = {
    **{op: op.name[1:].lower() for op in (UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kSqrt, UnaryOp.kSquare)},
    **{op: op.name[1:].lower() for op in (UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kLog1p)},
    **{op: op.name[1:].lower() for op in (UnaryOp.kSin, UnaryOp.kCos, UnaryOp.kTan, UnaryOp.kReciprocal)},
    **{op: op.name[1:].lower() for op in (UnaryOp.kSinh, UnaryOp.kCosh, UnaryOp.kTanh)},
    **{op: f"arc{op.name[2:].lower()}" for op in (UnaryOp.kAsin, UnaryOp.kAcos, UnaryOp.kAtan)},
    **{op: f"arc{op.name[2:].lower()}" for op in (UnaryOp.kAsinh, UnaryOp.kAcosh, UnaryOp.kAtanh)},
}
_TORCH_NAMES = {
    **{op: op.name[1:].lower() for op in _NUMPY_NAMES},
    **{op: op.name[1:].lower() for op in (UnaryOp.kRsqrt, UnaryOp.kSigmoid, UnaryOp.kErf, UnaryOp.kErfc)},
    **{op: op.name[1:].lower() for op in (UnaryOp.kLgamma, UnaryOp.kDigamma)},
}
_TORCH_ACTIVATIONS = {
    **{op: op.name[1:].lower() for op in (UnaryOp.kElu, UnaryOp.kCelu, UnaryOp.kSelu, UnaryOp.kGelu, UnaryOp.kSilu)},
    **{op: op.name[1:].lower() for op in (UnaryOp.kMish, UnaryOp.kSoftPlus, UnaryOp.kSoftSign, UnaryOp.kLogSigmoid)},
    **{op: op.name[1:].lower() for op in (UnaryOp.kHardSwish, UnaryOp.kHardSigmoid, UnaryOp.kSoftShrink)},
    UnaryOp.kLeakyRelu: "leaky_relu",
}


@dataclass
class Errors:
    """The errors of one implementation: of which argument the largest one is, and what came out."""

    implementation: str
    maximum: float
    mean: float
    worst_argument: float
    got: float
    exact: float


@dataclass
class Accuracy:
    """One op: ep's errors and those of its peers. `slow_reference`: fewer samples, evaluated number by number."""

    op: str
    dtype: str
    samples: int
    slow_reference: bool
    errors: list[Errors]


def arguments(dtype: np.dtype[Any], count: int) -> Array:
    """`count` finite numbers of both signs: half evenly among all numbers, half evenly in the exponent around 1."""
    rng = np.random.default_rng(SEED)
    bits = np.dtype(f"u{dtype.itemsize}")
    largest = int(np.array(np.finfo(dtype).max).view(bits))
    steps = np.linspace(0, largest, max(count // 4, 1), endpoint=False)
    # somewhere in each step: the steps themselves would all end in zero bits
    anywhere = (steps + rng.random(steps.size) * (largest / steps.size)).astype(bits).view(dtype)
    around_1 = 2.0 ** rng.uniform(-12, 12, max(count // 4, 1))
    magnitudes = np.concatenate([anywhere, around_1.astype(dtype)])
    return np.concatenate([magnitudes, -magnitudes])


def defaults(op: UnaryOp) -> list[float]:
    return [attribute.default or 0.0 for attribute in ATTRIBUTES.get(op, ())]


def peers(op: UnaryOp) -> Iterator[tuple[str, Function]]:
    """The same function of NumPy and of PyTorch, where they have it and are installed."""
    if op in _NUMPY_NAMES:
        yield "numpy", getattr(np, _NUMPY_NAMES[op])
    if find_spec("torch") is None:
        return
    import torch

    if op in _TORCH_NAMES:
        function = getattr(torch, _TORCH_NAMES[op])
    elif op in _TORCH_ACTIVATIONS:
        function = getattr(torch.nn.functional, _TORCH_ACTIVATIONS[op])
    elif op is UnaryOp.kTrigamma:
        function = lambda x: torch.polygamma(1, x)  # noqa: E731
    else:
        return
    yield "torch", lambda x: function(torch.from_numpy(x)).numpy()


def launcher(op: UnaryOp, dtype: np.dtype[Any], device: DeviceUnderTest) -> Function:
    primitive = device.require(ElementwiseUnaryFactory, op, dtype, dtype, *defaults(op))

    def launch(x: Array) -> Array:
        out = device.empty(x.size, as_data_type(dtype))
        primitive.Launch(device.stream, device.buffer(x), out, x.size)
        return device.array(out)

    return launch


def errors(implementation: str, got: Array, want: Array, x: Array, at_least: Array | float) -> Errors:
    ulps = errors_in_ulps(got, want, at_least)
    worst = int(np.argmax(ulps))
    finite = np.abs(want) <= np.finfo(got.dtype).max
    mean = float(ulps[finite].mean()) if finite.any() else 0.0
    return Errors(implementation, float(ulps[worst]), mean, float(x[worst]), float(got[worst]), float(want[worst]))


def measure(op: UnaryOp, dtype: np.dtype[Any], samples: int, device: DeviceUnderTest) -> Accuracy:
    """The errors of `op` on the device and those of its peers, on the same arguments."""
    slow = op in tolerances.SLOW_REFERENCE and dtype == np.float64
    x = arguments(dtype, min(samples, SLOW_SAMPLES) if slow else samples)
    want = exact(op, x, *defaults(op)).astype(np.longdouble)
    # a difference of two terms is as accurate as the larger of them
    at_least = np.where(x < 0, tolerances.TERM_BELOW_ZERO[op], 0.0) if op in tolerances.TERM_BELOW_ZERO else 0.0
    found = []
    with np.errstate(all="ignore"):
        for implementation, function in [("ep", launcher(op, dtype, device)), *peers(op)]:
            found.append(errors(implementation, function(x), want, x, at_least))
    return Accuracy(op.name, dtype.name, x.size, slow, found)


def rounding_ops(dtype: np.dtype[Any], device_type: DeviceType) -> list[UnaryOp]:
    """The ops on `dtype` whose results are rounded; the others only select or move."""
    data_type = as_data_type(dtype)
    return [
        entry.op
        for entry in registered(device_type)
        if entry.interface is ElementwiseUnary
        and entry.dtypes == (data_type, data_type)
        and isinstance(entry.op, UnaryOp)
        and tolerances.unary_ulps(entry.op, dtype.type) > 0
    ]


def show(results: Sequence[Accuracy], seconds: float) -> None:
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


def as_fields(result: Accuracy) -> dict[str, Any]:
    """For JSON, which knows neither infinity nor NaN: those are spelled as strings."""
    fields = asdict(result)
    for found in fields["errors"]:
        found |= {name: str(value) for name, value in found.items() if value in (np.inf, -np.inf) or value != value}
    return fields


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--ops", nargs="+", metavar="OP", help="such as kExp; default: all whose results are rounded")
    parser.add_argument("--samples", type=int, default=2**20, help="arguments of each op; default: %(default)s")
    parser.add_argument("--device", default="cpu", metavar="TAG", help="default: %(default)s")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: %(default)s")
    given = parser.parse_args()
    if unknown := [name for name in given.ops or () if name not in UnaryOp.__members__]:
        parser.error(f"no such op: {', '.join(unknown)}")
    if given.samples < 4:
        parser.error("--samples must be at least 4")
    dtype, device = np.dtype(given.dtype), DeviceUnderTest(DeviceType.FromTag(given.device))
    ops = [UnaryOp[name] for name in given.ops] if given.ops else rounding_ops(dtype, device.type)
    start, results = time.perf_counter(), []
    for op in ops:
        with output.status(op.name):
            results.append(measure(op, dtype, given.samples, device))
    if given.format == "json":
        output.as_json([as_fields(result) for result in results])
    else:
        show(results, time.perf_counter() - start)


if __name__ == "__main__":
    main()
