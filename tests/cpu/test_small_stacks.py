"""Launches from threads with the smallest stack that Python allows."""

import pytest

from tests.kernel_folders import OF_MAPS, OF_RELU, remove
from tests.stacks import LEAST
from tests.subprocesses import run

PRELUDE = (
    f"LEAST = {LEAST}"
    + """
import sys, threading
import numpy as np
from ep import BinaryOp, BlasTransposeType, DeviceManagerRegistry, DeviceType, ReduceOp, RequirePrimitive, UnaryOp
from ep.cpu.machine.calibration import everywhere
from ep.include.primitive import *

K = DeviceType.kCPU
device = DeviceManagerRegistry.GetDevice(K)
stream = device.CreateStream()

def unary(op, data_type, size):
    primitive = RequirePrimitive(ElementwiseUnaryFactory, K, op, data_type, data_type)
    x = np.linspace(-9, 9, size).astype(data_type)
    x[::97] = 1e30  # beyond the limits of the vectorised functions
    y = np.empty_like(x)
    primitive.Launch(stream, x, y, size)
    if op is UnaryOp.kRelu:
        assert (y == np.maximum(x, 0)).all()
    elif op is UnaryOp.kSin:
        assert np.allclose(y, np.sin(x), rtol=1e-5, atol=1e-6), np.abs(y - np.sin(x)).max()
def short_rows(data_type, rows):
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, K, BinaryOp.kAdd, data_type, data_type, 3)
    for dims0, dims1 in (((rows, 3), (rows, 1)), ((rows, 1), (1, 3)), ((rows, 2), (1,)), ((rows, 1, 3), (rows, 2, 1))):
        x, y = (np.arange(np.prod(dims)).reshape(dims).astype(data_type) for dims in (dims0, dims1))
        expected = x + y
        out = np.empty_like(expected)
        primitive.Launch(stream, dims0, x, dims1, y, out)
        assert (out == expected).all()
def gather(width):
    primitive = RequirePrimitive(GatherFactory, K, "float32", "int64")
    x, rows = np.arange(50.0 * width, dtype=np.float32).reshape(50, width), np.arange(4000) * 7 % 50
    out = np.empty((4000, width), np.float32)
    primitive.Launch(stream, 1, 50, width, x, 4000, rows, out)
    assert (out == x[rows]).all()
def expand(rows):
    primitive = RequirePrimitive(ExpandFactory, K, "float32", 3)
    for src, dst in (((rows, 1), (rows, 3)), ((1, 3), (rows, 3)), ((1, 40), (rows, 40)), ((rows, 1, 5), (rows, 7, 5))):
        x, out = np.arange(np.prod(src), dtype=np.float32).reshape(src), np.empty(dst, np.float32)
        primitive.Launch(stream, src, x, dst, out)
        assert (out == np.broadcast_to(x, dst)).all()
def power(data_type):
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, K, BinaryOp.kPow, data_type, data_type, 2)
    x, y, out = np.full((900, 3), 2, data_type), np.full(900, 3, data_type), np.empty((900, 3), data_type)
    primitive.Launch(stream, (900, 3), x, (900, 1), y, out)
    assert (out == 8).all()
def transposed(data_type, rows):
    primitive = RequirePrimitive(BroadcastElementwiseUnaryFactory, K, UnaryOp.kCast, data_type, "float32", 2)
    x = (np.arange(rows * 65) % 100).astype(data_type).reshape(rows, 65)
    out = np.empty((65, rows), np.float32)
    primitive.Launch(stream, out.shape, x, out.shape, out, (1, 65))
    assert (out == x.T).all()
def permute(data_type, rows):
    primitive = RequirePrimitive(PermuteFactory, K, 3)
    for dims, permutation in (
        ((rows // 131, 131), (1, 0)), ((rows, 3), (1, 0)), ((2, rows), (1, 0)), ((rows // 35, 5, 7), (0, 2, 1)),
        ((2100, 2100), (1, 0)),  # with non-temporal stores
    ):
        x = np.arange(np.prod(dims)).astype(data_type).reshape(dims)
        out = np.empty(x.size, data_type)
        primitive.Launch(stream, data_type, dims, x, permutation, out)
        assert (out == x.transpose(permutation).reshape(-1)).all()
def boxes(rows):
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    pad, out = RequirePrimitive(ConstantPadFactory, K, "float32"), np.empty((rows + 2, 5), np.float32)
    pad.Launch(stream, x.shape, x, (1, 1), (1, 1), 7, out)
    assert (out == np.pad(x, 1, constant_values=7)).all()
    copy, part = RequirePrimitive(CopyNdFactory, K, 2), np.empty((rows - 1, 2), np.float32)
    copy.Launch(stream, "float32", part, part.shape, (0, 0), x, x.shape, (1, 1), part.shape)
    assert (part == x[1:, 1:]).all()
    again = np.empty_like(x)
    RequirePrimitive(MemcpyFactory, K, MemcpyKind.kAuto).Launch(stream, again, x, x.nbytes)
    assert (again == x).all()
    RequirePrimitive(MemsetFactory, K).Launch(stream, again, 0, x.nbytes)
    assert not again.any()
def maps(size):
    x, out = np.arange(-9, size - 9, dtype=np.float32), np.empty(size, np.float32)
    whole = np.empty(size, np.int16)
    RequirePrimitive(CastFactory, K, "float32", "int16").Launch(stream, x % 1000, whole, size)
    assert (whole == (x % 1000).astype(np.int16)).all()
    RequirePrimitive(AddFactory, K, "float32").Launch(stream, [x] * 11, out, size)
    assert np.allclose(out, 11 * x)
    RequirePrimitive(FillFactory, K, "float32").Launch(stream, out, 3, size)
    assert (out == 3).all()
    rows = size // 3
    where = RequirePrimitive(WhereFactory, K, "bool", "float32", 2)
    where.Launch(stream, (rows, 1), x[:rows] > 50, (rows, 3), x[: 3 * rows], (3,), x[:3], out)
    x3 = x[: 3 * rows].reshape(rows, 3)
    assert (out[: 3 * rows].reshape(rows, 3) == np.where(x[:rows, None] > 50, x3, x[:3])).all()
    hot, labels = np.empty((rows, 3), np.int8), np.arange(rows) % 4
    RequirePrimitive(OneHotFactory, K, "int64", "int8").Launch(stream, labels, hot, 1, 0, rows, 0, 3)
    assert (hot == (labels[:, None] == np.arange(3))).all()
    unary = RequirePrimitive(BroadcastElementwiseUnaryFactory, K, UnaryOp.kNegative, "float32", "float32", 2)
    unary.Launch(stream, (3, rows), x, (3, rows), out, (1, 3), (1, 3))
    assert (out[: 3 * rows] == -x[: 3 * rows]).all()
    unary.Launch(stream, (3, rows), x, (3, rows), out, (1, 3))
    assert (out[: 3 * rows].reshape(3, rows) == -x3.T).all()
def products(data_type):
    N, T = BlasTransposeType
    for m, n, k in ((3, 5, 7), (1, 300, 400), (300, 1, 400), (16, 200, 300), (150, 200, 300), (1, 3, 20_000)):
        x, y, out = (np.full(size, 2, data_type) for size in (m * k, n * k, m * n))
        for kind in (N, T):
            RequirePrimitive(MatmulFactory, K, data_type, N, kind).Launch(stream, m, n, k, 1, x, y, 0, out)
            assert (out == 4 * k).all()
def row_by_row(data_type, rows):
    x = np.linspace(-9, 9, rows * 7).reshape(rows, 7)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    wanted = e / e.sum(axis=1, keepdims=True)
    for cols in (7, rows * 7):
        y, logs, dx, dlogs = (np.empty(x.size, data_type) for _ in range(4))
        source = (x if cols == 7 else np.zeros_like(x)).astype(data_type).reshape(-1)
        count = x.size // cols
        RequirePrimitive(SoftmaxFactory, K, data_type).Launch(stream, count, cols, source, y)
        assert np.allclose(y, wanted.reshape(-1) if cols == 7 else 1 / cols, rtol=1e-2)
        RequirePrimitive(LogSoftmaxFactory, K, data_type).Launch(stream, count, cols, source, logs)
        assert np.allclose(logs, np.log(y.astype(float)), atol=1e-2)
        ones = np.ones(x.size, data_type)
        RequirePrimitive(SoftmaxBackwardFactory, K, data_type).Launch(stream, count, cols, y, ones, dx)
        assert np.allclose(dx, 0, atol=1e-2)
        RequirePrimitive(LogSoftmaxBackwardFactory, K, data_type).Launch(stream, count, cols, logs, ones, dlogs)
        assert np.allclose(dlogs, 1 - cols * y.astype(float), atol=1e-2)
def reduced(data_type, rows):
    x = (np.arange(rows * 3) % 5 + 1).astype(data_type).reshape(3, rows)
    for op, wanted in ((ReduceOp.kSum, np.sum), (ReduceOp.kMax, np.max)):
        if op is ReduceOp.kMax and x.dtype.kind == "c":
            continue
        for dims, axes in (((3, rows), (0,)), ((rows, 3), (1,)), ((3, rows), (1,)), ((3, rows), (0, 1))):
            kept = x.reshape(dims)
            expected = wanted(kept, axis=axes, dtype=x.dtype) if op is ReduceOp.kSum else wanted(kept, axis=axes)
            out = np.empty(expected.size, x.dtype)
            RequirePrimitive(ReduceFactory, K, op, data_type, 2).Launch(stream, dims, kept, axes, out)
            assert (out == expected.reshape(-1)).all()
def segment_sums(data_type, width):
    ids = np.arange(4000) * 7 % 50
    data, out = np.ones((2, 2000, width), data_type), np.empty((2, 50, width), data_type)
    plain = RequirePrimitive(UnsortedSegmentSumFactory, K, data_type, "int64")
    plain.Launch(stream, 1, 50, width, data, 4000, ids, out)
    assert (out.reshape(-1)[: 50 * width] == 80).all()
    batched = RequirePrimitive(BatchUnsortedSegmentSumFactory, K, data_type, "int64")
    batched.Launch(stream, 2, 1, 50, width, data, 2000, ids, out)
    assert (out == 40).all()
    scatter = RequirePrimitive(BatchScatterFactory, K, ScatterOp.kAdd, data_type, "int64")
    scatter.Launch(stream, 2, 1, 50, width, data, 2000, ids, out)
    assert (out == 80).all()
def scanned(data_type, size):
    x, out, places = np.ones(size, data_type), np.empty(size, data_type), np.empty(size, np.int64)
    for op, wanted in ((ScanOp.kSum, 3), (ScanOp.kProd, 1)):
        for sizes in ((1, size, 1), (size // 300, 3, 100), (size // 300, 3, 1)):
            RequirePrimitive(ScanFactory, K, op, data_type).Launch(stream, *sizes, x, out)
        assert out[2] == wanted
    for sizes in ((1, size, 1, 1), (1, size, 1, 3), (1, size, 1, 300), (1, size, 1, size), (size // 300, 3, 100, 1)):
        RequirePrimitive(ArgSortFactory, K, SortOrder.kAscending, data_type).Launch(stream, *sizes, x, places)
        assert places[0] == 0
def work():
    size = 40_000
    [scanned(data_type, size) for data_type in ("int8", "float32", "float64")]
    for data_type in ("float32", "float64"):
        for op in (UnaryOp.kRelu, UnaryOp.kSin, UnaryOp.kGelu, UnaryOp.kLgamma):
            unary(op, data_type, size)
        power(data_type)
    for data_type in ("int8", "float32", "float64", "complex128"):
        short_rows(data_type, size // 3)
    [gather(width) for width in (1, 3, 16, 100)]
    expand(size // 3)
    [permute(data_type, size) for data_type in ("int8", "int16", "float32", "float64", "complex128")]
    [transposed(data_type, size) for data_type in ("int8", "float64")]
    boxes(size // 3)
    maps(size)
    [products(data_type) for data_type in ("float32", "float64", "complex64", "complex128")]
    [row_by_row(data_type, size // 7) for data_type in ("float16", "float32", "float64")]
    [reduced(data_type, size // 3) for data_type in ("int64", "float64", "complex128")]
    [segment_sums(data_type, width) for data_type in ("int8", "float32") for width in (1, 3, 100)]
def in_a_small_thread(target):
    errors = []
    def guarded():
        try:
            target()
        except BaseException as error:
            errors.append(error)
    threading.stack_size(LEAST)
    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    assert not errors, errors
"""
)


@pytest.mark.ep_long
@pytest.mark.parametrize("num_threads", [1, 3])
def test_all_primitives(num_threads):
    """Test the first launches, which import, compile or load, and later ones."""
    run(PRELUDE + "in_a_small_thread(work)\nin_a_small_thread(work)\nwork()", EP_CPU_NUM_THREADS=str(num_threads))


@pytest.mark.ep_long
def test_launches_past_the_caches(run_forked):
    """Test launches with non-temporal stores, which need tiles on the stack in addition."""
    twice = "in_a_small_thread(work)\n" * 2
    run_forked(f"{PRELUDE}device.force_calibration(everywhere(1 << 12))\n{twice}")


def test_kernels_that_are_compiled(kernels):
    """Compile kernels in such a thread: those of Relu and of Expand are not on disk."""
    remove(kernels, OF_RELU, OF_MAPS)
    code = """
in_a_small_thread(lambda: (unary(UnaryOp.kRelu, "float32", 999), expand(99)))
from ep.cpu.compile.compiler import statistics
assert statistics.compiled >= 4, statistics
"""
    run(PRELUDE + code, EP_CACHE_DIR=str(kernels))


@pytest.mark.ep_long
def test_workers_have_a_stack_of_their_own(run_forked):
    run_forked(
        PRELUDE
        + """
threading.stack_size(LEAST)
device.SetNumThreads(4)
work()
assert threading.stack_size() == LEAST
""",
        EP_CPU_NUM_THREADS="2",
    )
