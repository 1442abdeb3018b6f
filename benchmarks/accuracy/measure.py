"""The errors of one op, measured piece by piece in several processes, then combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from benchmarks.accuracy.arguments import Arguments, Array, Sample
from benchmarks.accuracy.peers import Function, peers
from ep import DeviceType, UnaryOp
from ep.include.data_type import as_data_type
from ep.include.primitive import ElementwiseUnaryFactory
from ep.include.primitive.op_table import attributes_of
from ep.testing import tolerances
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.unary import exact
from ep.testing.ulps import errors_in_ulps

SLOW_SAMPLES: Final = 2**12
"""The most arguments of an op whose reference is evaluated number by number."""


@dataclass
class Errors:
    """The errors of one implementation: their sum and number, and the argument and result of the largest."""

    implementation: str
    maximum: float
    total: float
    finite: int
    worst_argument: float
    got: float
    exact: float

    @property
    def mean(self) -> float:
        return self.total / self.finite if self.finite else 0.0

    def add(self, other: Errors) -> None:
        """Include the errors of more arguments."""
        if other.maximum > self.maximum:
            self.maximum, self.worst_argument, self.got, self.exact = (
                *(other.maximum, other.worst_argument),
                *(other.got, other.exact),
            )
        self.total += other.total
        self.finite += other.finite


@dataclass(frozen=True)
class Accuracy:
    """One op: ep's errors and those of its peers. `slow_reference`: evaluated number by number, on fewer samples."""

    op: str
    dtype: str
    samples: int
    slow_reference: bool
    errors: list[Errors]


@dataclass(frozen=True)
class Task:
    """The task of a process: the op, the device, the arguments, and whether peers are measured too."""

    op: UnaryOp
    device: str
    arguments: Arguments
    with_peers: bool

    def errors_of(self, number: int) -> list[Errors]:
        """Return the errors for the arguments of one piece."""
        x = self.arguments.piece(number)
        want = exact(self.op, x, *_defaults(self.op)).astype(np.longdouble)
        # a difference of two terms can only be as accurate as the larger term
        term = tolerances.TERM_BELOW_ZERO.get(self.op, 0.0)
        with np.errstate(all="ignore"):
            at_least = np.where(x < 0, term, 0.0)
            ours = ("ep", _launcher(self.op, x.dtype, self.device))
            found = [ours, *(peers(self.op) if self.with_peers else ())]
            return [_errors(name, function(x), want, x, at_least) for name, function in found]


def measure(
    op: UnaryOp, arguments: Arguments, device: str, with_peers: bool, pool: Executor, advance: Callable[[int], None]
) -> Accuracy:
    """Return the errors of `op` on the device and those of its peers, on the same arguments.

    advance: called with the number of pieces that were done.
    """
    task, total = Task(op, device, arguments, with_peers), None
    for part in pool.map(task.errors_of, range(arguments.num_pieces)):
        if total is None:
            total = part
        else:
            for sum_, more in zip(total, part, strict=True):
                sum_.add(more)
        advance(1)
    slow = isinstance(arguments, Sample) and arguments.dtype == np.float64 and op in tolerances.SLOW_REFERENCE
    dtype = arguments.dtype.name if isinstance(arguments, Sample) else "float32"
    return Accuracy(op.name, dtype, arguments.size, slow, total or [])


def sample_of(op: UnaryOp, dtype: np.dtype[Any], samples: int) -> Sample:
    """Return `samples` arguments for `op`, or fewer if its reference is slow."""
    slow = op in tolerances.SLOW_REFERENCE and dtype == np.float64
    return Sample(dtype, min(samples, SLOW_SAMPLES) if slow else samples)


def _defaults(op: UnaryOp) -> list[float]:
    return [attribute.default or 0.0 for attribute in attributes_of(op)]


@cache
def _launcher(op: UnaryOp, dtype: np.dtype[Any], tag: str) -> Function:
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    primitive = device.require(ElementwiseUnaryFactory, op, dtype, dtype, *_defaults(op))

    def launch(x: Array) -> Array:
        out = device.empty(x.size, as_data_type(dtype))
        primitive.Launch(device.stream, device.buffer(x), out, x.size)
        return device.array(out)

    return launch


def _errors(implementation: str, got: Array, want: Array, x: Array, at_least: Array) -> Errors:
    ulps = errors_in_ulps(got, want, at_least)
    worst = int(np.argmax(ulps))
    finite = np.abs(want) <= np.finfo(got.dtype).max
    return Errors(
        implementation,
        float(ulps[worst]),
        float(ulps[finite].sum()),
        int(np.count_nonzero(finite)),
        *(float(value) for value in (x[worst], got[worst], want[worst])),
    )


def as_fields(results: Sequence[Accuracy]) -> list[dict[str, Any]]:
    """Return the results for JSON, which has neither infinity nor NaN: they become strings."""

    def number(value: float) -> float | str:
        return value if np.isfinite(value) else str(value)

    return [
        {
            **{name: getattr(result, name) for name in ("op", "dtype", "samples", "slow_reference")},
            "errors": {
                found.implementation: {
                    name: number(getattr(found, name)) for name in ("maximum", "mean", "worst_argument", "got", "exact")
                }
                for found in result.errors
            },
        }
        for result in results
    ]
