"""Matmul: the product of two matrices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, transposes
from ep.include.stream import Stream


class Matmul(Primitive):
    """`c = alpha * a @ b + beta * c`, a and b transposed where New said so (`matmul.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, m: int, n: int, k: int, alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        """Multiply on `stream`.

        a: buffer of `[m, k]` elements of data_type, `[k, m]` where it is transposed.
        b: buffer of `[k, n]` elements of data_type, `[n, k]` where it is transposed.
        c: buffer of `[m, n]` elements of data_type, overlapping neither; it is not read where beta is 0.
        alpha, beta: numbers.

        All matrices are row-major. Raises TypeError or ValueError, naming the argument, before anything is written.
        """


class MatmulFactory(Factory[Matmul]):
    """Makes Matmul for a type and the transposes of the operands."""

    primitive = Matmul

    def New(
        self, data_type: DTypeLike, transpose_a: BlasTransposeType, transpose_b: BlasTransposeType
    ) -> Matmul | None:
        """Return a Matmul of `data_type`, None where the device has none; see `NewPrimitive`."""
        types = data_types(data_type=data_type)
        return self.Select(Request(Matmul, None, types, options=transposes(transpose_a, transpose_b)))
