"""The map engine beyond the existing primitives: any number of operands, any walk, any function."""

import functools
import math

import mpmath
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.common.functor.lookup import functor_maker
from ep.common.primitive.strides import extent
from ep.cpu.engine.map import plan
from ep.cpu.engine.map.plan import MapPlan
from ep.cpu.engine.move.link import link
from ep.include import DataType
from ep.include.number_kind import Kind
from ep.include.primitive import BroadcastElementwiseUnaryFactory
from ep.testing.ulps import errors_in_ulps
from tests.cpu.mapped import Mapped, stream

T = DataType


def sum_functions(types):
    """Return a function that distinguishes its operands: a + 3 b + 9 c + ..."""
    from ep.cpu.kernels.functors import composed_functions

    def maker(m):
        one, three = m.T(1), m.T(3)
        if len(types) == 1:
            return lambda a: three * a + one
        if len(types) == 2:
            return lambda a, b: a + three * b
        return lambda a, b, c, d: a + three * (b + three * (c + three * d))

    return composed_functions(maker, types, types[0])


@functools.cache
def weighted_sum(count, data_type):
    types = (data_type,) * count
    return Mapped(f"sum.{count}.{data_type.name}", lambda: sum_functions(types), types, data_type)


def weighted(sources):
    """Return the result of `weighted_sum`, by NumPy."""
    return 3 * sources[0] + 1 if len(sources) == 1 else sum(3**k * source for k, source in enumerate(sources))


def random_dims(rng, num_axes, count):
    """Return the dims of `count` operands that broadcast to the same dims of `num_axes` axes."""
    dims = tuple(int(size) for size in rng.integers(1, 4 if num_axes > 4 else 9, num_axes))
    if num_axes and rng.random() < 0.5:
        dims = (*dims[:-1], int(rng.integers(16, 70)))
    operands = []
    for _ in range(count):
        kept = tuple(size if rng.random() < 0.6 else 1 for size in dims)
        operands.append(kept[int(rng.integers(0, num_axes + 1)) if rng.random() < 0.3 else 0 :])
    return tuple(operands)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("data_type", [T.kInt32, T.kDouble, T.kInt8], ids=lambda t: t.name)
def test_every_walk(rng, count, data_type):
    primitive, on = weighted_sum(count, data_type), stream()
    for num_axes in range(9):
        for _ in range(6):
            dims = random_dims(rng, num_axes, count)
            sources = [rng.integers(-3, 4, each).astype(data_type.dtype) for each in dims]
            result = np.broadcast_shapes(*dims)
            expected = weighted([source.astype(np.int64) for source in sources])
            dst = np.full(math.prod(result) + 1, 77, data_type.dtype)
            primitive.Launch(on, dims, sources, dst[:-1])
            assert dst[-1] == 77
            assert (dst[:-1] == np.broadcast_to(expected, result).astype(data_type.dtype).reshape(-1)).all(), dims


@pytest.mark.parametrize("threads", [1, 3])
def test_large_walks_on_threads(rng, threads):
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        primitive = weighted_sum(4, T.kInt32)
        dims = (300, 1, 7), (1, 401, 1), (), (300, 401, 7)
        sources = [rng.integers(-9, 9, each).astype(np.int32) for each in dims]
        dst = np.zeros((300, 401, 7), np.int32)
        primitive.Launch(stream(), dims, sources, dst)
        assert (dst == weighted(sources)).all()
    finally:
        device.SetNumThreads(before)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_strides_on_both_sides(rng, count):
    """Memory between the elements of dst stays unchanged."""
    primitive = weighted_sum(count, T.kInt32)
    dims = 5, 3, 37
    strides = [(400, 80, 2), (37, 0, 1), (1, 5, 15), (0, 0, 3)][:count]
    dst_strides = 500, 120, 3
    types = (T.kInt32,) * (count + 1)
    plan = MapPlan(primitive.signature, dims, strides, types, dst_strides)
    extents = [extent(dims, steps) for steps in (*strides, dst_strides)]
    plan.set_checks(extents, in_place=False)
    buffers = [rng.integers(-9, 9, extent).astype(np.int32) for extent in extents]
    expected = buffers[-1].copy()
    *views, at = (
        np.lib.stride_tricks.as_strided(buffer, dims, [4 * step for step in steps])
        for buffer, steps in zip((*buffers[:-1], expected), (*strides, dst_strides), strict=True)
    )
    at[...] = weighted(views)
    for move in plan.moves:
        link(move)
    primitive._run(stream(), plan, *buffers)
    assert (buffers[-1] == expected).all()


BLOCKED = [(T.kInt8, T.kFloat), (T.kDouble, T.kFloat), (T.kFloat, T.kInt8), (T.kComplex128, T.kComplex64)]


@pytest.mark.parametrize("scattered_from", [0, 2**62])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("types", BLOCKED, ids=str)
def test_blocks_of_a_transposed_operand(rng, monkeypatch, types, threads, scattered_from):
    """Test blocks cut at the ends of axes and of the ranges of threads, with and without gaps in dst."""
    monkeypatch.setattr(plan, "scattered_from", lambda: scattered_from)
    src_type, dst_type = types
    device, cast = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0), (UnaryOp.kCast, src_type, dst_type)
    primitive = RequirePrimitive(BroadcastElementwiseUnaryFactory, DeviceType.kCPU, *cast, 4)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        for dims, permutation in (
            ((16, 17), (1, 0)),
            ((131, 1030), (1, 0)),
            ((5, 33, 129), (0, 2, 1)),
            ((33, 5, 130), (2, 1, 0)),
            ((3, 16, 20_001), (0, 2, 1)),
            ((7, 20, 3, 64), (3, 2, 1, 0)),
        ):
            src = rng.integers(-99, 99, dims).astype(src_type.dtype)
            expected = src.transpose(permutation).astype(dst_type.dtype)
            dims = expected.shape
            src_strides = [step // src.itemsize for step in src.transpose(permutation).strides]
            for gap in (0, 5):
                dst_strides = [1]
                for size in dims[:0:-1]:
                    dst_strides.insert(0, dst_strides[0] * size + gap)
                memory = np.full(extent(dims, dst_strides) + 2, 77, dst_type.dtype)
                primitive.Launch(stream(), dims, src, dims, memory[1:-1], src_strides, dst_strides)
                steps = [memory.itemsize * step for step in dst_strides]
                written = np.lib.stride_tricks.as_strided(memory[1:], dims, steps)
                assert (written == expected).all(), (dims, gap)
                written[...] = 77
                assert (memory == 77).all()
    finally:
        device.SetNumThreads(before)


def fused(m):
    gelu = m.use(functor_maker(UnaryOp.kGelu, Kind.FLOAT))
    return lambda a, b, c: gelu(a + b) * c


@pytest.mark.parametrize("in_single", [False, True])
@pytest.mark.parametrize("data_type", [T.kFloat, T.kDouble], ids=lambda t: t.name)
def test_a_composed_function_is_a_row_kernel(rng, data_type, in_single):
    """Test gelu(a + b) * c with values for which a + b and the product are exact."""
    from ep.cpu.kernels.functors import composed_functions

    name = f"gelu_add_mul.{data_type.name}.{in_single}"
    types = (data_type,) * 3
    primitive = Mapped(name, lambda: composed_functions(fused, types, data_type, in_single), types, data_type)
    for dims in (((1000,),) * 3, ((7, 1, 5), (1, 33, 5), (7, 33, 1)), ((64, 65), (65,), ()), ((), (1,), (3, 1))):
        a, b = (np.asarray(rng.integers(-2000, 2000, each) / 1024, data_type.dtype) for each in dims[:2])
        c = np.asarray(rng.choice([-2.0, 0.5, 4.0], dims[2]), data_type.dtype)
        dst = np.zeros(np.broadcast_shapes(*dims), data_type.dtype)
        primitive.Launch(stream(), dims, (a, b, c), dst)
        x = (a + b).astype(np.float64)
        gelu = np.array([np.longdouble(mpmath.nstr(each * mpmath.ncdf(each), 25)) for each in x.ravel().tolist()])
        assert errors_in_ulps(dst, gelu.reshape(x.shape) * c).max() <= 4
