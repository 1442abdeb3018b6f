"""Launches that pad arrays and write out their windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.strides import contiguous_strides
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.kernels import (
    Launch,
    Launches,
    Plan,
    Predicate,
    PreparedKernel,
    PrimitiveExists,
    Subject,
    data_type,
    primitive_exists,
)
from ep.ops.kernels.conditions import Value

_OUT: Final = data_type("out")


def _primitives(kind: Value | DataType) -> tuple[PrimitiveExists, PrimitiveExists]:
    return primitive_exists(ConstantPadFactory, kind), primitive_exists(ExpandFactory, kind, kMaxNumDims)


class Move(NamedTuple):
    """One step that computes an array of `shape` from another; its launch reads the one and writes the other."""

    shape: Dims
    launch: Launches


class WindowMoves:
    """The moves that pad arrays of one type and write out windows."""

    def __init__(self, subject: Subject, kind: Value | DataType = _OUT) -> None:
        """kind: the type of the arrays, or that of an operand of the subject."""
        self._pad, self._expand = (one.make(subject) for one in _primitives(kind))

    @staticmethod
    def exist(kind: Value | DataType = _OUT) -> Predicate:
        """Return the condition that there are moves of arrays of a type."""
        pad, expand = _primitives(kind)
        return pad & expand

    def padding(self, planes: Dims, found: Windows, value: float = 0) -> Iterator[Move]:
        """Yield the move that pads planes with one value, if there is padding."""
        if found.has_padding:
            nothing, dims = (0,) * len(planes), (*planes, *found.sizes)
            around = (*nothing, *found.before), (*nothing, *found.after)
            yield Move((*planes, *found.padded), Plan(Launch(self._pad, dims, Placeholder(0), *around, value, RESULT)))

    def writing(self, planes: Dims, found: Windows) -> Iterator[Move]:
        """Yield the move that writes the windows of padded planes, unless they are the elements themselves."""
        if not found.is_whole:
            shape = (*planes, *found.kernel, *found.counts)
            yield Move(shape, self.strided(shape, found.walk(planes), contiguous_strides(shape)))

    def strided(self, shape: Dims, src_strides: Dims, dst_strides: Dims) -> Launches:
        """Return a launch that copies `shape` elements, no size 0, between two arrays with the given strides."""
        dims, src_strides, dst_strides = simplify_strided(shape, src_strides, dst_strides)
        return Plan(Launch(self._expand, dims, Placeholder(0), dims, RESULT, src_strides, dst_strides))

    def chain(self, shape: Dims, moves: Iterable[Move]) -> Launches:
        """Return the launches of consecutive moves from an array of `shape` to the result; a copy without moves."""
        same = contiguous_strides(shape)
        *first, last = [*moves] or [Move(shape, self.strided(shape, same, same))]
        if not first:
            return last.launch

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            last.launch(arrays, [self.moved(arrays, inputs[0], first)], outputs)

        return launches

    def without_overlap(self, launches: Launches, count: int) -> Launches:
        """Return launches that read operands after they have begun to write `count` elements, for any operands.

        The result may have the memory of an operand: it is then written to other memory first.
        """
        copy = self.strided((count,), (1,), (1,))

        def safely(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            (out,) = outputs
            if share_memory(arrays, inputs, out):
                written = arrays.empty(out.shape, out.dtype)
                launches(arrays, inputs, [written])
                copy(arrays, [written], outputs)
            else:
                launches(arrays, inputs, outputs)

        return safely

    def moved(self, arrays: Arrays, array: Array, moves: Sequence[Move]) -> Array:
        """Queue moves, one after the other, and return the last one's result."""
        for shape, launch in moves:
            written = arrays.empty(shape, array.dtype)
            launch(arrays, [array], [written])
            array = written
        return array


def share_memory(arrays: Arrays, inputs: Sequence[Array], out: Array) -> bool:
    """Return whether the result may share memory with an input; in launches that repeat it does not."""
    if arrays.repeats:
        return False
    for one in inputs:  # noqa: SIM110  a generator takes longer, which small calls notice
        if arrays.may_share_memory(one, out):
            return True
    return False


class WindowKernel(PreparedKernel, WindowMoves):
    """The base of kernels that pad arrays and write out windows, for a product to read."""

    moves_exist = WindowMoves.exist()

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        WindowMoves.__init__(self, subject)
