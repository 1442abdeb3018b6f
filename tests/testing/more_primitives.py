"""More primitives for the example of a device, which conform: for defects that its own primitives cannot have."""

import numpy as np
from ep_numpy_device.device import kNumpy

from ep import BlasTransposeType, DataType
from ep.common.buffer_checks import check_bytes
from ep.common.checks import as_buffers, as_byte, as_size
from ep.common.host.device import check_stream
from ep.common.host_buffers import check_disjoint, elements
from ep.common.primitive import signatures
from ep.common.primitive.pad_shape import as_pad_shape
from ep.common.primitive.reduce_shape import as_reduce_shape, check_reduces_something
from ep.common.primitive.segment_sizes import as_segment_sizes
from ep.common.scalar import convert_value
from ep.include.primitive import (
    Add,
    AddFactory,
    BatchScatter,
    BatchScatterFactory,
    Cast,
    CastFactory,
    ConstantPad,
    ConstantPadFactory,
    Key,
    Matmul,
    MatmulFactory,
    Memset,
    MemsetFactory,
    Reduce,
    ReduceFactory,
    ReduceOp,
    ScatterOp,
    register_primitive_factory,
)
from ep.testing.references.convert import convert

FLOAT, HALF, BFLOAT16, INT8 = DataType.kFloat, DataType.kFloat16, DataType.kBFloat16, DataType.kInt8
INT32, INT64 = DataType.kInt32, DataType.kInt64
T = BlasTransposeType.T


def register(contract, *keys):
    """Register a primitive for `keys`: data types, or an op and data types."""

    def decorate(primitive):
        class Factory(contract):
            def Make(self, request):
                return primitive(request)

        Factory.keys = frozenset(Key(*key) for key in keys)
        register_primitive_factory(kNumpy, contract)(Factory)
        return primitive

    return decorate


@register(MatmulFactory, (None, (FLOAT,)), (None, (HALF,)))
class NumpyMatmul(Matmul):
    def Launch(self, stream, m, n, k, alpha, a, b, beta, c):
        (data_type,) = self.request.dtypes
        check_stream(stream, kNumpy)
        m, n, k = as_size(m, "m"), as_size(n, "n"), as_size(k, "k")
        alpha, beta = convert_value(alpha, data_type, "alpha"), convert_value(beta, data_type, "beta")
        a, b = elements(a, "a", data_type, m * k), elements(b, "b", data_type, k * n)
        c = elements(c, "c", data_type, m * n, written=True)
        check_disjoint(c, "c", a, "a")
        check_disjoint(c, "c", b, "b")
        options = self.request.options
        a = a.reshape(k, m).T if options["transpose_a"] is T else a.reshape(m, k)
        b = b.reshape(n, k).T if options["transpose_b"] is T else b.reshape(k, n)
        result = np.zeros((m, n), np.float32)
        with np.errstate(all="ignore"):
            if alpha != 0:
                result += np.float32(alpha) * np.matmul(a.astype(np.float32), b.astype(np.float32))
            if beta != 0:
                result += np.float32(beta) * c.reshape(m, n).astype(np.float32)
            c[...] = result.reshape(-1).astype(c.dtype)


@register(MemsetFactory, (None, ()))
class NumpyMemset(Memset):
    def Launch(self, stream, dst, value, count):
        check_stream(stream, kNumpy)
        value, count = as_byte(value, "value"), as_size(count, "count")
        if not isinstance(dst, np.ndarray):
            raise TypeError(f"dst must be a numpy.ndarray, not {dst!r}")
        if not dst.flags.c_contiguous or not dst.flags.writeable:
            raise ValueError(f"dst is {'read-only' if dst.flags.c_contiguous else 'not C-contiguous'}")
        check_bytes("dst", dst.nbytes, count)
        dst.view(np.uint8)[:count] = value


@register(CastFactory, *((None, pair) for pair in ((FLOAT, HALF), (FLOAT, BFLOAT16), (FLOAT, INT8))))
class NumpyCast(Cast):
    def Launch(self, stream, src, dst, count):
        src_type, dst_type = self.request.dtypes
        check_stream(stream, kNumpy)
        count = as_size(count, "count")
        src, dst = elements(src, "src", src_type, count), elements(dst, "dst", dst_type, count, written=True)
        check_disjoint(dst, "dst", src, "src", in_place=src_type.itemsize == dst_type.itemsize)
        dst[...] = convert(src, dst.dtype)


@register(AddFactory, (None, (FLOAT,)), (None, (HALF,)), (None, (INT8,)))
class NumpyAdd(Add):
    def Launch(self, stream, srcs, dst, count):
        (data_type,) = self.request.dtypes
        check_stream(stream, kNumpy)
        count, srcs = as_size(count, "count"), as_buffers(srcs, "srcs")
        srcs = [elements(src, f"srcs[{place}]", data_type, count) for place, src in enumerate(srcs)]
        dst = elements(dst, "dst", data_type, count, written=True)
        for place, src in enumerate(srcs):
            check_disjoint(dst, "dst", src, f"srcs[{place}]", in_place=True)
        total = srcs[0].astype(np.float32 if data_type is HALF else dst.dtype)
        with np.errstate(all="ignore"):
            for src in srcs[1:]:
                total = total + src
            dst[...] = total.astype(dst.dtype)


@register(ReduceFactory, (ReduceOp.kMax, (FLOAT,)), (ReduceOp.kMax, (INT8,)))
class NumpyReduce(Reduce):
    def Launch(self, stream, src_dims, src, axes, dst):
        (data_type,) = self.request.dtypes
        check_stream(stream, kNumpy)
        shape = as_reduce_shape(src_dims, axes, self.request.max_num_dims)
        src_count, dst_count = shape.counts()
        src, dst = elements(src, "src", data_type, src_count), elements(dst, "dst", data_type, dst_count, written=True)
        check_disjoint(dst, "dst", src, "src")
        check_reduces_something(ReduceOp.kMax, shape)
        if dst_count:
            dst.reshape(shape.dst_dims())[...] = np.max(src.reshape(shape.src_dims), axis=shape.axes)


@register(ConstantPadFactory, (None, (FLOAT,)), (None, (INT8,)))
class NumpyConstantPad(ConstantPad):
    def Launch(self, stream, src_dims, src, padding_before, padding_after, pad_val, dst):
        (data_type,) = self.request.dtypes
        check_stream(stream, kNumpy)
        shape = as_pad_shape(src_dims, padding_before, padding_after)
        number = convert_value(pad_val, data_type, "pad_val")
        src_count, dst_count = shape.counts()
        src, dst = elements(src, "src", data_type, src_count), elements(dst, "dst", data_type, dst_count, written=True)
        check_disjoint(dst, "dst", src, "src")
        dst[...] = number
        if dst_count == 0 or src_count == 0:
            return
        box = shape.copied()
        if min(box.extent, default=1) > 0:
            part = tuple(slice(first, first + size) for first, size in zip(box.dst_pos, box.extent, strict=True))
            kept = tuple(slice(first, first + size) for first, size in zip(box.src_pos, box.extent, strict=True))
            dst.reshape(shape.dst_dims)[part] = src.reshape(shape.src_dims)[kept]


@register(
    BatchScatterFactory,
    *((op, (data_type, INT64)) for op, data_type in ((ScatterOp.kUpdate, INT32), (ScatterOp.kAdd, FLOAT))),
    (ScatterOp.kAdd, (HALF, INT32)),
)
class NumpyBatchScatter(BatchScatter):
    def Launch(
        self, stream, batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size, updates, num_indices, indices,
        out, offset=0,
    ):  # fmt: skip
        data_type, indices_type = self.request.dtypes
        check_stream(stream, kNumpy)
        numbers = batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size, num_indices, offset
        batch, outer, places, inner, number, offset = as_segment_sizes(numbers, signatures.BATCH_SCATTER)
        updates = elements(updates, "updates", data_type, batch * outer * number * inner)
        indices = elements(indices, "indices", indices_type, batch * number)
        out = elements(out, "out", data_type, batch * outer * places * inner, written=True)
        check_disjoint(out, "out", updates, "updates")
        check_disjoint(out, "out", indices, "indices")
        updates, out = (item.reshape(batch, outer, -1, inner) if item.size else item for item in (updates, out))
        total = out.astype(np.float32 if data_type is HALF else out.dtype)
        for b, i in np.ndindex(batch, number) if out.size else ():
            target = int(indices[b * number + i]) - offset
            if 0 <= target < places:
                with np.errstate(all="ignore"):
                    old = total[b, :, target] if self.request.op is ScatterOp.kAdd else 0
                    total[b, :, target] = old + updates[b, :, i].astype(total.dtype)
                    out[b, :, target] = total[b, :, target].astype(out.dtype)
