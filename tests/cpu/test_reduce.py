"""Reductions on the CPU: the same bits with any number of threads and former contents of memory; errors of few ulps."""

import math
from functools import partial
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import ep
from ep import DataType, DeviceManagerRegistry, DeviceType, ReduceOp, RequirePrimitive
from ep.common.primitive import signatures
from ep.common.primitive.reduce_shape import as_reduce_shape
from ep.common.stored_types import carried_as
from ep.cpu.engine.reduce.plan import TILE_BYTES, ReduceLoops, reduce_plan
from ep.cpu.engine.reduce.values import is_compensated, num_parts
from ep.include import primitive as p
from ep.testing.reductions import check_close, draw
from ep.testing.tolerances import Library
from ep.testing.ulps import errors_in_ulps
from tests.cpu.test_calibration import MADE_UP

T = DataType
CPU = DeviceType.kCPU
THREADS = (1, 2, 3, 5)
FRESH = None
DEVICE = DeviceManagerRegistry.GetDevice(CPU, 0)


def on_threads(threads, launch):
    before = DEVICE.GetNumThreads()
    DEVICE.SetNumThreads(threads)
    try:
        return launch()
    finally:
        DEVICE.SetNumThreads(before)


def assert_same_bits(launch):
    """Check that launch(fill) gives the same bits for any number of threads, former contents and calibration."""
    bits = {on_threads(threads, partial(launch, fill)) for threads in THREADS for fill in (FRESH, 0xFF)}
    try:
        for made_up in MADE_UP:
            DEVICE.force_calibration(made_up)
            bits |= {on_threads(threads, partial(launch, fill)) for threads, fill in ((1, 0xFF), (3, FRESH))}
    finally:
        DEVICE.force_calibration(None)
    assert len(bits) == 1


def memory(size, fill):
    """Return bytes that hold `fill`; FRESH: zeros of pages that were never written."""
    return np.zeros(size, np.uint8) if fill is FRESH else np.full(size, fill, np.uint8)


def reduced(op, src, axes, fill=0):
    primitive = RequirePrimitive(p.ReduceFactory, CPU, op, src.dtype, 8)
    kept = [size for axis, size in enumerate(src.shape) if axis not in axes]
    dst = memory(math.prod(kept) * src.itemsize, fill).view(src.dtype)
    primitive.Launch(DEVICE.CreateStream(), src.shape, src, axes, dst)
    return dst


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex128"])
@pytest.mark.parametrize(
    ("dims", "axes"),
    [
        ((3_000_001,), (0,)),
        ((3, 500_001), (1,)),
        ((9001, 201), (1,)),
        ((500_001, 3), (0,)),
        ((3001, 1031), (0,)),
        ((61, 67, 307), (0, 2)),
        ((7, 6007, 33), (1,)),
        ((1013, 3, 601), (0, 2)),
    ],
    ids=str,
)
def test_sums_have_the_same_bits_on_any_number_of_threads(rng, dims, axes, dtype):
    src = rng.normal(size=dims).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    assert_same_bits(lambda fill: reduced(ReduceOp.kSum, src, axes, fill).tobytes())


@pytest.mark.parametrize("op", [ReduceOp.kMax, ReduceOp.kMin])
@pytest.mark.parametrize(("dims", "axes"), [((1031, 16), (1,)), ((1031, 33), (0,)), ((40_009,), (0,))], ids=str)
def test_one_nan_anywhere_is_the_least_and_the_largest(op, dims, axes):
    """Comparisons ignore a NaN; a separate test finds it, in every lane."""
    size = math.prod(dims)
    for place in (0, 1, size // 2, size - 17, size - 1):
        src = np.arange(size, dtype=np.float32).reshape(dims)
        src.reshape(-1)[place] = np.nan
        np.testing.assert_array_equal(
            reduced(op, src, axes), getattr(np, op.name[1:].lower())(src, axis=axes).reshape(-1)
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_rows_that_are_folded_together_have_the_bits_of_one(rng, dtype):
    """A row has the same bits in a vector of rows and alone."""
    for length in (1, 2, 3, 7, 16, 33, 201):
        src = rng.normal(size=(37, length)).astype(dtype)
        alone = [reduced(ReduceOp.kSum, row[None], (1,)) for row in src]
        assert reduced(ReduceOp.kSum, src, (1,)).tobytes() == np.concatenate(alone).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("dims", "axes"), [((19, 3, 47), (0, 2)), ((1013, 3, 601), (0, 2)), ((3, 5, 7, 33), (0, 2, 3))]
)
def test_rows_that_are_apart_are_folded_into_one_value(rng, dims, axes, dtype):
    """Some have one block, some have two; the rows of few units are cut into segments."""
    src = rng.random(dims).astype(dtype)
    exact = src.astype(np.longdouble).sum(axes).reshape(-1)
    np.testing.assert_allclose(reduced(ReduceOp.kSum, src, axes), exact, rtol=np.finfo(dtype).eps)
    np.testing.assert_array_equal(reduced(ReduceOp.kMax, src, axes), src.max(axes).reshape(-1))


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "SoftmaxBackward", "LogSoftmaxBackward"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("dims", [(1, 400_001), (3, 100_003), (257, 1031), (50_021, 7)], ids=str)
def test_softmaxes_have_the_same_bits_on_any_number_of_threads(rng, name, dtype, dims):
    data_type = {"float32": T.kFloat, "float64": T.kDouble, "bfloat16": T.kBFloat16}[dtype]
    primitive = RequirePrimitive(getattr(p, f"{name}Factory"), CPU, data_type)
    sources = [rng.normal(size=dims).astype(data_type.dtype) for _ in range(1 + ("Backward" in name))]

    def launch(fill):
        out = memory(math.prod(dims) * data_type.itemsize, fill).view(data_type.dtype)
        primitive.Launch(DEVICE.CreateStream(), *dims, *sources, out)
        return out.tobytes()

    assert_same_bits(launch)


def test_the_tasks_of_a_part_of_a_reduction_are_one_kernel_which_later_processes_load(run_forked, tmp_path):
    code = """
from ep.cpu.compile.compiler import statistics
from ep.cpu.engine.reduce.kernel import reduce_tasks
from ep.cpu.engine.reduce.plan import Part
from ep import DataType, ReduceOp
tasks = [reduce_tasks(ReduceOp.kSum, DataType.kInt64, part) for part in Part]
addresses = [address for one in tasks for address in one.values()]
print(len(set(addresses)), len(addresses), statistics.compiled, statistics.loaded)
"""
    assert run_forked(code, EP_CACHE_DIR=str(tmp_path)).split() == ["6", "6", "4", "0"]
    assert run_forked(code, EP_CACHE_DIR=str(tmp_path)).split() == ["6", "6", "0", "4"]


@pytest.mark.ep_long
def test_a_launch_of_a_reduction_compiles_the_tasks_that_it_needs(run_forked, tmp_path):
    code = """
import numpy as np
from ep import DataType, DeviceManagerRegistry, DeviceType, ReduceOp, RequirePrimitive
from ep.cpu.compile.compiler import statistics
from ep.include.primitive import ReduceFactory
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
src = np.arange(60, dtype=np.float64)
for axes in ((2,), (0,), (0, 2), (1,)):
    known = set(statistics.names)
    primitive = RequirePrimitive(ReduceFactory, DeviceType.kCPU, ReduceOp.kMax, DataType.kDouble, 3)
    want = src.reshape(3, 4, 5).max(axes).reshape(-1)
    dst = np.empty_like(want)
    primitive.Launch(stream, (3, 4, 5), src, axes, dst)
    assert (dst == want).all()
    print(*sorted(name.split(".")[-1] for name in set(statistics.names) - known if "kMax" in name), sep="+")
"""
    assert run_forked(code, EP_CACHE_DIR=str(tmp_path)).split() == ["rows", "columns+values", "blocks"]


@pytest.mark.parametrize("ids", ["random", "equal", "sorted"])
@pytest.mark.parametrize(
    ("batch", "num_ids", "inner", "dtype"),
    [(1, 4001, 97, "float32"), (17, 4001, 97, "float32"), (1, 40_009, 3, "float32"), (3, 20_011, 1, "bfloat16")],
)
def test_segment_sums_have_the_same_bits_on_any_number_of_threads(rng, ids, batch, num_ids, inner, dtype):
    num_segments, item = 307, np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    chosen = {
        "random": rng.integers(0, num_segments, (batch, num_ids)),
        "equal": np.full((batch, num_ids), 5),
        "sorted": np.sort(rng.integers(0, num_segments, (batch, num_ids))),
    }[ids]
    data = rng.normal(size=(batch, num_ids, inner)).astype(item)
    primitive = RequirePrimitive(p.BatchUnsortedSegmentSumFactory, CPU, dtype, "int64")

    def launch(fill):
        out = memory(batch * num_segments * inner * item.itemsize, fill).view(item)
        primitive.Launch(DEVICE.CreateStream(), batch, 1, num_segments, inner, data, num_ids, chosen, out)
        return out.tobytes()

    assert_same_bits(launch)


@pytest.mark.parametrize("inner", [1, 3, 97])
def test_rows_of_a_segment_are_added_in_their_order(rng, inner):
    ids, data = np.arange(4001) % 3, rng.normal(size=(4001, inner)).astype(np.float32)
    out, want = np.empty((3, inner), np.float32), np.zeros((3, inner), np.float32)
    primitive = RequirePrimitive(p.UnsortedSegmentSumFactory, CPU, "float32", "int64")
    primitive.Launch(DEVICE.CreateStream(), 1, 3, inner, data, ids.size, ids, out)
    for row, segment in zip(data, ids, strict=True):
        want[segment] += row
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("grain", [1, 1000, 10**9])
def test_the_bits_do_not_depend_on_how_work_is_shared_out(rng, grain, dtype):
    """Compare launches with the default grain and with another, from one element to all."""
    data_type = {"float32": T.kFloat, "bfloat16": T.kBFloat16}[dtype]
    x = rng.normal(size=(3, 70_001)).astype(data_type.dtype)
    wanted = RequirePrimitive(p.SoftmaxFactory, CPU, data_type)
    other = RequirePrimitive(p.SoftmaxFactory, CPU, data_type)
    results = np.zeros_like(x), np.zeros_like(x)
    for primitive, y in zip((wanted, other), results, strict=True):
        primitive.Launch(DEVICE.CreateStream(), *x.shape, x, y)
        primitive._state.set(grain=grain)
        primitive.Launch(DEVICE.CreateStream(), *x.shape, x, y)
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("length", [1, 5, 600, 20_000])
def test_sums_of_negative_zeros_are_one(length, dtype):
    """Test sums by rows, by columns and in several segments, with and without compensation: each gives -0."""
    zeros = np.full((3, length), -0.0, dtype)
    for x, axis in ((zeros, 1), (zeros.T.copy(), 0)):
        for name in ("sum", "mean"):
            assert np.signbit(getattr(ep.ops, name)(x, axis).real).all()


@pytest.mark.parametrize("op", [ReduceOp.kSum, ReduceOp.kMean])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positive_numbers_by_the_million(rng, op, dtype):
    """Test random, equal and growing numbers, whose naive sum has an error of thousands of ulps."""
    count = 4_000_037
    for src in (rng.random(count), np.full(count, 0.1), np.geomspace(1e-6, 1e6, count)):
        src = src.astype(dtype)
        want = np.longdouble(math.fsum(src.tolist())) / (count if op is ReduceOp.kMean else 1)
        assert errors_in_ulps(reduced(op, src, (0,)), np.array([want])).max() <= 4


@pytest.mark.parametrize("data_type", [T.kFloat16, T.kBFloat16])
@pytest.mark.parametrize(
    ("dims", "axes"), [((311, 1009), (0,)), ((311, 1009), (1,)), ((67, 7), (0,)), ((3, 263), (1,))], ids=str
)
def test_sums_of_16_bit_numbers_are_as_near_as_those_in_float32(rng, data_type, dims, axes):
    """Test all magnitudes, numbers that cancel but whose partial sums overflow in float32, and the smallest numbers."""
    host = SimpleNamespace(library=Library.VECTOR_MATH)
    largest, least = ml_dtypes.finfo(data_type.dtype).max, ml_dtypes.finfo(data_type.dtype).smallest_subnormal
    halves = np.where(np.arange(dims[axes[0]]) % 16 < 8, largest, -largest).astype(data_type.dtype)
    cancelling = np.ascontiguousarray(np.broadcast_to(halves if axes == (1,) else halves[:, None], dims))
    for src in (draw(rng, ReduceOp.kSum, data_type, dims), cancelling, np.full(dims, least, data_type.dtype)):
        check_close(host, ReduceOp.kSum, data_type, reduced(ReduceOp.kSum, src, axes), src, axes)


def test_numbers_that_cancel(rng):
    src = rng.normal(size=(3, 100_001))
    exact = np.array([math.fsum(row) for row in src])
    assert (np.abs(reduced(ReduceOp.kSum, src, (1,)) - exact) <= 2**-53 * 10 * np.abs(src).sum(axis=1)).all()


@pytest.mark.parametrize(
    ("dims", "axes"),
    [((5, 7), (1,)), ((5, 7), (0,)), ((3, 5, 7, 2), (1, 3)), ((40_009, 3), (0,)), ((2, 9000), (0,)), ((9,), ())],
    ids=str,
)
def test_plans_stay_within_their_tiles(dims, axes):
    shape = as_reduce_shape(dims, axes, 8)
    for op, data_type in (
        (ReduceOp.kSum, T.kFloat),
        (ReduceOp.kSum, T.kComplex128),
        (ReduceOp.kMax, T.kFloat16),
        (ReduceOp.kAny, T.kInt8),
    ):
        plan = reduce_plan(signatures.REDUCE, op, data_type, shape.simplified(), shape.counts())
        words = {name: int(plan.words[getattr(ReduceLoops, name)]) for name in ReduceLoops.field_names}
        size = carried_as(op, data_type).itemsize * (2 if is_compensated(op, data_type) else 1)
        assert words["tile"] * words["group"] * num_parts(op, data_type) * size <= TILE_BYTES
        assert words["tile"] * words["tiles"] >= words["width"]
        assert words["segments"] <= max(words["all_blocks"], 1)
