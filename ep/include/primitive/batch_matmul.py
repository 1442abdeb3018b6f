"""BatchMatmul: the products of two batches of matrices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, product_options
from ep.include.stream import Stream


class BatchMatmul(Primitive):
    """`c[i] = alpha * a[i] @ b[i] + beta * c[i]`, with a and b transposed as requested in New (`batch_matmul.h`)."""

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

        a: buffer of `[batch_size, m, k]` elements of data_type, `[batch_size, k, m]` if it is transposed.
        b: buffer of `[batch_size, k, n]` elements of data_type, `[batch_size, n, k]` if it is transposed.
        c: buffer of `[batch_size, m, n]` elements of data_type, overlapping neither; it is not read if beta is 0.
        alpha, beta: numbers that data_type can hold, as for Fill. If alpha is 0, a and b are not read.

        All matrices are row-major. Types and k = 0 are as for Matmul. Raises TypeError or ValueError, naming the
        argument, before anything is written.
        """
        self._launch_with(stream, (batch_size, m, n, k), (a, b, c), alpha, beta)


class BatchMatmulFactory(Factory[BatchMatmul]):
    """The factory of BatchMatmul for a type and the transposes of the operands."""

    primitive = BatchMatmul

    def New(
        self,
        data_type: DTypeLike,
        transpose_a: BlasTransposeType,
        transpose_b: BlasTransposeType,
        *,
        allow_tf32: bool = False,
    ) -> BatchMatmul | None:
        """Return a BatchMatmul of `data_type`, or None if the device has none; see `NewPrimitive`.

        allow_tf32: whether a device may round the operands of float32 products to TensorFloat-32, whose fraction has 10
            bits; without it they are IEEE float32. It is not part of the key.
        """
        types = data_types(data_type=data_type)
        options = product_options(transpose_a, transpose_b, allow_tf32)
        return self.Select(Request(BatchMatmul, None, types, options=options))
