"""BroadcastMatmul: the products of two broadcast batches of matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, num_dims, product_options
from ep.include.primitive.window_map import WindowMap
from ep.include.stream import Stream

WindowProduct = Callable[[Stream, Any, Any, Any], None]
"""A launch (stream, a, b, c) of a product of a and the matrices that a WindowMap finds in b."""


class BroadcastMatmul(Primitive):
    """`c = alpha * a @ b + beta * c` over the last two dims, the others broadcast as NumPy's (`broadcast_matmul.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        alpha: Any,
        a_dims: Sequence[int],
        a: Any,
        b_dims: Sequence[int],
        b: Any,
        beta: Any,
        c_dims: Sequence[int],
        c: Any,
    ) -> None:
        """Multiply on `stream`.

        a_dims, b_dims, c_dims: 2 to max_num_dims sizes >= 0, row-major. The last two are those of a matrix: `(m, k)` of
            a, `(k, n)` of b, the other way round if it is transposed, and `(m, n)` of c. The others are aligned at the
            right; the sizes of one axis that are not 1 are equal. If an operand has a size other than 1 along an
            axis that has size 1 in c, or that c lacks, the products along it are summed into c.
        a, b: buffers of data_type with as many elements as their dims have.
        c: buffer of data_type with as many elements as c_dims has, overlapping neither; it is not read if beta is 0,
            and is added only once if products are summed.
        alpha, beta: numbers that data_type can hold, as for Fill. If alpha is 0, a and b are not read.

        Types are computed as by Matmul. Raises TypeError or ValueError, naming the argument, before anything is
        written.
        """
        self._launch_with(stream, (a_dims, b_dims, c_dims), (a, b, c), alpha, beta)

    def over_windows(self, a_dims: Sequence[int], windows: WindowMap, c_dims: Sequence[int]) -> WindowProduct | None:
        """Return a launch of `c = a @ b` that reads b from windows of an array; None if windows must be written out.

        a_dims: those of Launch, with as many axes as c_dims, or fewer. c_dims: no size is 0. a is not transposed.

        If b is transposed, the launch is of `c = a @ b.T`, with the same map of b, and summed as by Launch along axes
        that c lacks: windows.strides has one for each axis of a but the last two.
        """
        return None

    def over_planes(self, windows: PlaneWindows, groups: int, filters: int) -> WindowProduct | None:
        """Return a launch of sums of the windows of planes in b; None if the device has none.

        An element of c, `[planes, filters, counts...]`, is the sum of the elements of a window, each times the number
        of a for its place; those outside of a plane are 0. a: `[groups, filters, kernel...]`; plane p is of group
        p % groups.
        windows: no size, count or number of places is 0. a is not transposed.

        If b is transposed, a and c change places: an element of c, `[groups, filters, kernel...]`, is the sum, over the
        planes of its group and over all windows, of the element at one place times the window's number in a.
        """
        return None


class BroadcastMatmulFactory(Factory[BroadcastMatmul]):
    """The factory of BroadcastMatmul for a type, the transposes of the operands and a number of dims."""

    primitive = BroadcastMatmul

    def New(
        self,
        data_type: DTypeLike,
        transpose_a: BlasTransposeType,
        transpose_b: BlasTransposeType,
        max_num_dims: int,
        *,
        allow_tf32: bool = False,
    ) -> BroadcastMatmul | None:
        """Return a BroadcastMatmul of `data_type`, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of a, b or c, at most 8 (New returns None for more).
        allow_tf32: whether a device may round the operands of float32 products to TensorFloat-32, whose fraction has 10
            bits; without it they are IEEE float32. It is not part of the key.
        """
        types = data_types(data_type=data_type)
        options = product_options(transpose_a, transpose_b, allow_tf32)
        return self.Select(Request(BroadcastMatmul, None, types, num_dims(max_num_dims), options=options))
