"""BatchMatmul: the products of two batches of matrices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, transposes
from ep.include.stream import Stream


class BatchMatmul(Primitive):
    """`c[i] = alpha * a[i] @ b[i] + beta * c[i]`, a and b transposed where New said so (`batch_matmul.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        batch_size: int,
        m: int,
        n: int,
        k: int,
        alpha: Any,
        a: Any,
        b: Any,
        beta: Any,
        c: Any,
    ) -> None:
        """Multiply on `stream`.

        a: buffer of `[batch_size, m, k]` elements of data_type, `[batch_size, k, m]` where it is transposed.
        b: buffer of `[batch_size, k, n]` elements of data_type, `[batch_size, n, k]` where it is transposed.
        c: buffer of `[batch_size, m, n]` elements of data_type, overlapping neither; it is not read where beta is 0.
        alpha, beta: numbers.

        All matrices are row-major. Raises TypeError or ValueError, naming the argument, before anything is written.
        """


class BatchMatmulFactory(Factory[BatchMatmul]):
    """Makes BatchMatmul for a type and the transposes of the operands."""

    primitive = BatchMatmul

    def New(
        self, data_type: DTypeLike, transpose_a: BlasTransposeType, transpose_b: BlasTransposeType
    ) -> BatchMatmul | None:
        """Return a BatchMatmul of `data_type`, None where the device has none; see `NewPrimitive`."""
        types = data_types(data_type=data_type)
        return self.Select(Request(BatchMatmul, None, types, options=transposes(transpose_a, transpose_b)))
