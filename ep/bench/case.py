"""The case: its inputs, its primitive and the launch, the computation in NumPy, and the bytes that have to move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from ep.bench.data import Array, Input
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp
from ep.include.primitive.structure import Structure
from ep.include.stream import Stream

Arrays: TypeAlias = Sequence[Array]
_COMPARED: Final = 2**16  # elements of a part of a result that is compared with NumPy's
Call: TypeAlias = Callable[[], object]


class Work:
    """What a case computes, without names of this package's arguments, for other libraries."""


@dataclass(frozen=True)
class UnaryWork(Work):
    """`op` applied to every element."""

    op: UnaryOp


@dataclass(frozen=True)
class BinaryWork(Work):
    """`op` applied to every pair of elements of two operands, with broadcasting."""

    op: BinaryOp


@dataclass(frozen=True)
class GatherWork(Work):
    """Rows along axis 1 of [outer, gather, inner] elements, by a vector of indices."""

    outer: int
    gather: int
    inner: int
    num_indices: int


@dataclass(frozen=True)
class BatchGatherWork(Work):
    """Rows along axis 1 of [batch, gather, inner] elements, by [batch, num_indices] indices."""

    batch: int
    gather: int
    inner: int
    num_indices: int


@dataclass(frozen=True)
class ExpandWork(Work):
    """An array repeated along its axes of size 1, to the dims of the result."""


@dataclass(frozen=True)
class CastWork(Work):
    """An array in another type; transposed: its last two axes are exchanged, too."""

    transposed: bool = False


@dataclass(frozen=True)
class MatmulWork(Work):
    """The product of two matrices, or of batches of them.

    transpose_b: the second one's last two axes are exchanged.
    has_weights: the second one is known when a model is loaded.
    """

    transpose_b: bool = False
    has_weights: bool = False


@dataclass(frozen=True)
class SoftmaxWork(Work):
    """The softmax of each row, or its logarithm; backward: the gradient, from the result and its gradient."""

    log: bool = False
    backward: bool = False


@dataclass(frozen=True)
class ReduceWork(Work):
    """One value for all elements along some axes."""

    op: ReduceOp
    axes: tuple[int, ...]


@dataclass(frozen=True)
class SegmentSumWork(Work):
    """The sum of the rows of each segment, by ids."""


@dataclass(frozen=True)
class ScatterWork(Work):
    """Rows at the places that indices name, each of which is there once."""


@dataclass(frozen=True)
class ScanWork(Work):
    """The sums of all elements up to each one, along an axis."""

    axis: int


@dataclass(frozen=True)
class SortWork(Work):
    """The places of the first `num_places` elements of each row, the largest first."""

    num_places: int


@dataclass(frozen=True)
class TreesWork(Work):
    """The sums of the weights of the leaves that rows reach in trees."""


@dataclass(frozen=True)
class WhereWork(Work):
    """The second operand where the first is true, else the third, with broadcasting."""


@dataclass(frozen=True)
class AddWork(Work):
    """The sum of all operands."""


@dataclass(frozen=True)
class FillWork(Work):
    """The same number in every element; None for the one element of the operand."""

    value: int | None


@dataclass(frozen=True)
class OneHotWork(Work):
    """1 at the index of each row, else 0."""


@dataclass(frozen=True)
class PermuteWork(Work):
    """An array with its axes in another order: axis i of the result is `permutation[i]` of the operand."""

    permutation: tuple[int, ...]


@dataclass(frozen=True)
class PadWork(Work):
    """An array with elements of one value added before and after each axis; negative numbers remove elements."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    value: int


@dataclass(frozen=True)
class SliceWork(Work):
    """The box of the operand that begins at `begin`; its size is the result's dims."""

    begin: tuple[int, ...]


@dataclass(frozen=True)
class JoinWork(Work):
    """All operands joined along an axis."""

    axis: int


@dataclass(frozen=True)
class SetBytesWork(Work):
    """One value in every byte."""

    value: int


@dataclass(frozen=True)
class ExpressionWork(Work):
    """All results of a structure in one launch."""

    structure: Structure


@dataclass(frozen=True)
class Case:
    """One computation to time, independent of the device.

    name: in words.
    primitive: the interface; `key` has the arguments of its factory's New.
    work: the same computation, for other libraries.
    inputs, out_dims, out_type: the operands and the result.
    arguments: those of Launch after the stream, from buffers of the inputs and of the result; a list for several
        launches.
    numpy: computes the same into an array, with the fastest plain NumPy that allocates nothing.
    numpy_has_it: False if NumPy lacks the function and `numpy` computes number by number, for comparison only.
    read_and_written: the least bytes that have to be, if they are not those of all inputs and of the result.
    operations: multiplications and additions of a product; else 0.
    relative_error: the relative error from NumPy's result that is allowed; 0 for equal.
    absolute_error: the error allowed in addition.
    group: the group of cases in whose summary it counts.
    core: whether it belongs to a short run.
    """

    name: str
    primitive: type[Any]
    key: tuple[Any, ...]
    work: Work
    inputs: Sequence[Input]
    out_dims: tuple[int, ...]
    out_type: np.dtype[Any]
    arguments: Callable[[Sequence[Any], Any], tuple[Any, ...] | list[tuple[Any, ...]]]
    numpy: Callable[[Arrays, Array], Call]
    read_and_written: int | None = None
    operations: int = 0
    numpy_has_it: bool = True
    relative_error: float = 0.0
    absolute_error: float = 0.0
    group: str = ""
    core: bool = True

    @property
    def bytes_moved(self) -> int:
        """The least bytes that have to be read and written."""
        if self.read_and_written is not None:
            return self.read_and_written
        return sum(one.num_bytes for one in (*self.inputs, Input(self.out_dims, self.out_type)))

    def make(self, rng: np.random.Generator) -> list[Array]:
        """Return inputs from a random generator, the same ones from the same seed."""
        return [one.draw(rng) for one in self.inputs]

    def bind(self, primitive: Any, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        """Return a launch of a primitive on a stream, from buffers of the inputs to a buffer of the result."""
        given = self.arguments(inputs, out)
        if isinstance(given, tuple):
            return partial(primitive.Launch, stream, *given)
        launches = [partial(primitive.Launch, stream, *each) for each in given]
        return lambda: [launch() for launch in launches]

    def is_right(self, result: Array, expected: Array) -> bool:
        """Whether `result` is as close to the expected one as it must be."""
        if self.relative_error == 0:
            return np.array_equal(result, expected)
        wide, bounds = np.result_type(self.out_type, np.float32), (self.relative_error, self.absolute_error)
        for first in range(0, result.size, _COMPARED):  # the temporary arrays of each part stay in the caches
            ours, theirs = (
                array.reshape(-1)[first : first + _COMPARED].astype(wide, copy=False) for array in (result, expected)
            )
            if not np.allclose(ours, theirs, *bounds, equal_nan=True):
                return False
        return True
