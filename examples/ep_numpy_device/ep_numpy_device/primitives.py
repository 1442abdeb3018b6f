"""Fill, Gather, Expand and ElementwiseUnary in NumPy: each Launch checks all arguments, then writes."""

import numpy as np

from ep import DataType, UnaryOp
from ep.common.checks import as_size
from ep.common.host.device import check_stream
from ep.common.host_buffers import check_disjoint, elements
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.gather_view import as_gather_sizes
from ep.common.primitive.strides import expanded_strides
from ep.common.scalar import convert_value
from ep.include.primitive import (
    ElementwiseUnary,
    ElementwiseUnaryFactory,
    Expand,
    ExpandFactory,
    Fill,
    FillFactory,
    Gather,
    GatherFactory,
    Key,
    implements,
)
from ep_numpy_device.device import kNumpy

FLOATS = (DataType.kFloat, DataType.kDouble)
INDICES = (DataType.kInt32, DataType.kInt64)


@implements(FillFactory, on=kNumpy, keys={Key(None, (data_type,)) for data_type in (*FLOATS, *INDICES, DataType.kBool)})
class NumpyFill(Fill):
    def Launch(self, stream, dst, value, count):
        (data_type,) = self.request.dtypes
        check_stream(stream, kNumpy)
        number = convert_value(value, data_type, "value")
        dst = elements(dst, "dst", data_type, as_size(count, "count"), written=True)
        dst[...] = number


@implements(GatherFactory, on=kNumpy, keys={Key(None, (params, indices)) for params in FLOATS for indices in INDICES})
class NumpyGather(Gather):
    def Launch(
        self, stream, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out, offset=0
    ):
        params_type, indices_type = self.request.dtypes
        check_stream(stream, kNumpy)
        sizes = as_gather_sizes(1, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset)
        _, outer, gather, inner, count, offset = sizes
        params = elements(params, "params", params_type, outer * gather * inner)
        indices = elements(indices, "indices", indices_type, count)
        out = elements(out, "out", params_type, outer * count * inner, written=True)
        check_disjoint(out, "out", params, "params")
        check_disjoint(out, "out", indices, "indices")

        inside = (indices >= offset) & (indices < offset + gather)
        rows = [int(index) - offset for index in indices[inside]]  # Python's integers do not wrap around
        out = out.reshape(outer, count, inner)
        out[...] = 0
        out[:, inside] = params.reshape(outer, gather, inner)[:, rows]


@implements(ExpandFactory, on=kNumpy, keys={Key(None, (data_type,)) for data_type in (*FLOATS, *INDICES)})
class NumpyExpand(Expand):
    def Launch(self, stream, src_dims, src, dst_dims, dst, src_strides=None, dst_strides=None):
        (data_type,) = self.request.dtypes
        check_stream(stream, kNumpy)
        shape = as_expand_shape(src_dims, dst_dims, src_strides, dst_strides, self.request.max_num_dims)
        src_count, dst_count = shape.counts()
        src = elements(src, "src", data_type, src_count)
        dst = elements(dst, "dst", data_type, dst_count, written=True)
        if dst_count == 0:
            return
        src_steps = expanded_strides(shape.src_dims, shape.src_strides, len(shape.dst_dims))
        walked = [(a, b) for size, a, b in zip(shape.dst_dims, src_steps, shape.dst_strides, strict=True) if size > 1]
        check_disjoint(dst, "dst", src, "src", in_place=all(a == b for a, b in walked))

        strided(dst, shape.dst_dims, shape.dst_strides)[...] = strided(src, shape.dst_dims, src_steps)


def strided(array, dims, strides):
    """View a flat array with dims, and strides in elements."""
    return np.lib.stride_tricks.as_strided(array, dims, [stride * array.itemsize for stride in strides])


FUNCTIONS = {
    UnaryOp.kRelu: lambda x: np.where(x <= 0, x.dtype.type(0), x),  # NaN stays NaN
    UnaryOp.kNegative: np.negative,
    UnaryOp.kSqrt: np.sqrt,
    UnaryOp.kIsFinite: np.isfinite,
}


KEYS = {
    Key(op, (data_type, DataType.kBool if op is UnaryOp.kIsFinite else data_type))
    for op in FUNCTIONS
    for data_type in FLOATS
}


@implements(ElementwiseUnaryFactory, on=kNumpy, keys=KEYS)
class NumpyUnary(ElementwiseUnary):
    def Launch(self, stream, src, dst, count):
        src_type, dst_type = self.request.dtypes
        check_stream(stream, kNumpy)
        count = as_size(count, "count")
        src = elements(src, "src", src_type, count)
        dst = elements(dst, "dst", dst_type, count, written=True)
        check_disjoint(dst, "dst", src, "src", in_place=src_type.itemsize == dst_type.itemsize)

        with np.errstate(all="ignore"):
            dst[...] = FUNCTIONS[self.request.op](src)
