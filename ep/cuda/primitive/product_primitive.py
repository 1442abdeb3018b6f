"""The base of the matrix products on CUDA, which cuBLASLt computes; those of integers have a kernel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.lazy import lazy
from ep.common.primitive.product import Product
from ep.common.primitive.signature import Signature
from ep.common.scalar import convert_value, number_key
from ep.cuda.arrays.launch_buffers import reader
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.cublas_lt import (
    MAX_ALIGNMENT,
    MAX_BATCH_COUNT,
    Algorithm,
    Multiplication,
    library,
    max_rows,
    scale_type,
)
from ep.cuda.driver.current import driver
from ep.cuda.driver.interface import CaptureError
from ep.cuda.engine.product.strided_batches import strided_batches
from ep.cuda.primitive.integer_product import IntegerProduct
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.number_kind import INTEGERS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.cast import Cast, CastFactory
from ep.include.primitive.primitive import Primitive, Request
from ep.include.primitive.registry import RequirePrimitive


class Number(NamedTuple):
    """alpha or beta: in the type of the matrices, and in the type of the library."""

    value: Any
    scale: np.ndarray[Any, Any]


class _MatmulCall(NamedTuple):
    """A call of the library; first: whether no earlier call wrote these matrices of c."""

    algorithm: Algorithm
    addresses: tuple[int, int, int]
    first: bool


class ProductPrimitive(Primitive):
    """A matrix product: it checks the arguments of a launch, and queues the fewest possible calls."""

    signature: ClassVar[Signature]

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._types: Any = self.signature.data_types(request.dtypes or ())
        (self.data_type,) = request.dtypes or ()
        self._scale_type = scale_type(self.data_type)
        options = request.options
        transposed = [options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b")]
        self._transpose_a, self._transpose_b = transposed
        self._allow_tf32 = bool(options["allow_tf32"])
        self._numbers, self._products, self._algorithms = BoundedCache(), BoundedCache(), BoundedCache()
        self._integers = IntegerProduct(request) if self.data_type in INTEGERS else None
        self._one = Number(self.data_type.dtype.type(1), np.ones(1, self._scale_type.dtype))

    def Prepare(self) -> None:
        if self._integers is not None:
            self._integers.Prepare()
        elif driver().is_there:  # the kernels of the library are compiled already
            library().prepare(driver().current_device())

    def _number(self, number: Any, argument: str) -> Number:
        """Return alpha or beta; raises the errors of `convert_value`."""

        def make() -> Number:
            value = convert_value(number, self.data_type, argument)
            return Number(value, np.array([value]).astype(self._scale_type.dtype))

        key = number_key(number)
        kept: Number | None = self._numbers.get(key)
        return kept or self._numbers.keep(key, make)

    def _launch(
        self,
        stream: CudaStream,
        product: Product,
        alpha: Number,
        beta: Number,
        buffers: Sequence[Any],
        counts: Sequence[int],
    ) -> None:
        """Check the buffers a, b and c, which must have this many elements each, and queue the product."""
        a, b, c = self.signature.read(buffers, self._types, counts, reader(stream))
        count = counts[2]
        if not count:
            return
        if alpha.value == 0 or not product.k or not product.terms.size:
            self._scale(stream, beta, buffers[2], c, count)
        elif self._integers is not None:
            self._integers.Launch(stream, product, (a, b, c), alpha.value, beta.value)
        elif product.terms.size > 1 and self.data_type.itemsize == 2:
            self._sum_in_float32(stream, product, alpha, beta, (a, b), buffers[2], count)
        else:
            self._queue(stream, self._matmul_calls(stream, product, (a, b, c), self.data_type), alpha, beta)

    def _scale(self, stream: CudaStream, beta: Number, c: Any, address: int, count: int) -> None:
        """Queue `c = beta c`."""
        if beta.value == 0:
            stream.fill(address, 0, count * self.data_type.itemsize)
        elif beta.value != 1:
            self._scaler.Launch(stream, (count,), c, (), beta.value, c)

    @lazy
    def _scaler(self) -> BroadcastElementwiseBinary:
        key = BinaryOp.kMul, self.data_type, self.data_type
        return RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCUDA, *key, 1)

    @lazy
    def _casts(self) -> tuple[Cast, Cast]:
        """The casts to float32 and back."""
        narrow, wide = self.data_type, DataType.kFloat
        return (
            RequirePrimitive(CastFactory, DeviceType.kCUDA, narrow, wide),
            RequirePrimitive(CastFactory, DeviceType.kCUDA, wide, narrow),
        )

    def _sum_in_float32(
        self,
        stream: CudaStream,
        product: Product,
        alpha: Number,
        beta: Number,
        operands: tuple[int, int],
        c: Any,
        count: int,
    ) -> None:
        """Queue a sum of products of a 16-bit type, which is rounded once, after the last one."""
        wide_type, (widen, narrow) = DataType.kFloat, self._casts
        with stream.scratch(count * wide_type.itemsize) as memory:
            wide = memory.view(wide_type.dtype)
            calls = self._matmul_calls(stream, product, (*operands, wide.address), wide_type)
            if beta.value != 0:
                widen.Launch(stream, c, wide, count)
            self._queue(stream, calls, alpha, beta)
            narrow.Launch(stream, wide, c, count)

    def _matmul_calls(
        self, stream: CudaStream, product: Product, addresses: tuple[int, int, int], dst_type: DataType
    ) -> list[_MatmulCall]:
        """Return the calls of a product; addresses: those of a, b and c; c has `dst_type`."""
        sizes = self.data_type.itemsize, self.data_type.itemsize, dst_type.itemsize
        a_columns = product.m if self._transpose_a else product.k
        calls = []
        most = max_rows(self.data_type, self._allow_tf32)
        for batch in strided_batches(product, self._transpose_a, MAX_BATCH_COUNT, most):
            a, b, c = (at + offset * size for at, offset, size in zip(addresses, batch.offsets, sizes, strict=True))
            wanted = Multiplication(
                self.data_type,
                dst_type,
                batch.rows,
                product.n,
                product.k,
                self._transpose_a,
                self._transpose_b,
                self._allow_tf32,
                batch.batch_count,
                batch.strides,
                (_alignment(a), _alignment(b), _alignment(c)),
                a_columns,
            )
            calls.append(_MatmulCall(self._algorithm(stream, wanted), (a, b, c), batch.first))
        return calls

    def _algorithm(self, stream: CudaStream, wanted: Multiplication) -> Algorithm:
        """Return the algorithm of a call, on any stream of the device.

        Raises CaptureError for a new one during a capture.
        """
        device = stream.device_index
        key: Hashable = device, wanted
        algorithm: Algorithm | None = self._algorithms.get(key)
        if algorithm is not None:
            return algorithm
        if stream.is_capturing():
            raise CaptureError(
                f"cuBLASLt chooses no algorithm while launches are captured, and a product of {wanted.batch_count} "
                f"matrices [{wanted.m}, {wanted.k}] by [{wanted.k}, {wanted.n}] of {self.data_type.name}, at multiples "
                f"of {wanted.alignments} bytes, is new to this primitive; launch it once before the capture"
            )
        return self._algorithms.keep(key, partial(library().algorithm, device, wanted, stream.workspace_size))

    def _queue(self, stream: CudaStream, calls: Sequence[_MatmulCall], alpha: Number, beta: Number) -> None:
        multiplier = library()
        workspace = stream.workspace() if any(call.algorithm.workspace_size for call in calls) else 0
        for call in calls:
            numbers = alpha.scale.ctypes.data, (beta if call.first else self._one).scale.ctypes.data
            multiplier.multiply(stream.device_index, stream.handle, call.algorithm, call.addresses, numbers, workspace)


def _alignment(address: int) -> int:
    return min(address & -address, MAX_ALIGNMENT)
