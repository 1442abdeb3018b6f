"""Launches that write with non-temporal stores.

They write the same bytes as other launches, and nothing else; the kernels have such stores.
"""

import json
import platform
import re

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.engine.move import plan
from ep.cpu.engine.reduce import row_passes
from ep.cpu.machine import caches
from ep.cpu.machine.calibration import NEVER, everywhere
from ep.include.primitive import (
    BatchGatherFactory,
    BroadcastElementwiseBinaryFactory,
    ConstantPadFactory,
    CopyNdFactory,
    ElementwiseUnaryFactory,
    ExpandFactory,
    GatherFactory,
    LogSoftmaxBackwardFactory,
    LogSoftmaxFactory,
    MemcpyFactory,
    MemcpyKind,
    MemsetFactory,
    PermuteFactory,
    SoftmaxBackwardFactory,
    SoftmaxFactory,
)
from tests.subprocesses import run

GUARD = 0x5A
SHIFTS = (0, 1, 3, 8, 40, 63)  # bytes from the start of a cache line


@pytest.fixture(params=[1, 3])
def stream(request):
    """Yield a stream of the device with 1 or 3 threads; each launch that can uses non-temporal stores."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = device.GetNumThreads()
    device.SetNumThreads(request.param)
    device.force_calibration(everywhere(0))
    yield device.CreateStream()
    device.force_calibration(None)
    device.SetNumThreads(threads)


def check(launch, expected, shifts=SHIFTS):
    """Run `launch(out)` on memory at several offsets in a cache line; check its bytes and those around it."""
    expected = np.ascontiguousarray(expected)
    for shift in shifts:
        memory = np.full(expected.nbytes + 256, GUARD, np.uint8)
        start = -memory.ctypes.data % 64 + shift
        out = memory[start : start + expected.nbytes]
        launch(out.view(expected.dtype))
        assert out.tobytes() == expected.tobytes()
        memory[start : start + expected.nbytes] = GUARD
        assert (memory == GUARD).all()


def numbers(rng, dims, dtype):
    """Return random bytes as numbers, including NaN: they are copied unchanged."""
    return rng.integers(0, 256, (*dims, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("dims", [(), (1, 1, 1), (7, 3, 5), (64, 33, 3), (2, 300, 70), (130, 10, 11), (1, 2, 40_000)])
def test_expand(stream, rng, dims, dtype):
    primitive = RequirePrimitive(ExpandFactory, DeviceType.kCPU, dtype, 3)
    for kept in range(2 ** len(dims)):
        src_dims = tuple(size if kept >> axis & 1 else 1 for axis, size in enumerate(dims))
        src = numbers(rng, src_dims, dtype)
        flat = src.reshape(-1)
        check(
            lambda out, src_dims=src_dims, flat=flat: primitive.Launch(stream, src_dims, flat, dims, out),
            np.broadcast_to(src, dims),
            SHIFTS if kept < 3 else (0, 3),
        )


@pytest.mark.parametrize("cached", [0, 2**62])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    ("dims", "permutation"),
    [
        ((2, 8191), (1, 0)),
        ((4097, 3), (1, 0)),
        ((5, 4, 1031), (0, 2, 1)),
        ((301, 2, 13), (0, 2, 1)),
        ((261, 517), (1, 0)),
        ((7, 300, 11, 5), (2, 0, 3, 1)),
        ((37, 41, 64), (1, 0, 2)),
        ((7, 1024, 2), (0, 2, 1)),  # planes that start at the same offset in a cache line
        ((2, 832, 3), (0, 2, 1)),
        ((576, 4), (1, 0)),
        ((4, 999), (1, 0)),
        ((3, 41, 7, 29), (0, 2, 1, 3)),  # rows that are read in order, in few streams of dst
        ((2, 12, 61, 7), (0, 2, 3, 1)),  # blocks of short rows of dst
    ],
)
def test_permute(stream, rng, monkeypatch, dims, permutation, dtype, cached):
    """cached: the most bytes of an operand that the caches hold."""
    for bound in ("scattered_from", "far_from"):
        monkeypatch.setattr(plan, bound, lambda: cached)
    primitive = RequirePrimitive(PermuteFactory, DeviceType.kCPU, 4)
    src = numbers(rng, dims, dtype)
    check(lambda dst: primitive.Launch(stream, dtype, dims, src, permutation, dst), src.transpose(permutation))


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex128])
@pytest.mark.parametrize("before", [(0, 0, 0), (1, 2, 3), (0, -5, 1)])
@pytest.mark.parametrize("columns", [3, 30, 301])
def test_constant_pad(stream, rng, columns, before, dtype):
    primitive = RequirePrimitive(ConstantPadFactory, DeviceType.kCPU, dtype)
    src, after = numbers(rng, (3, 70, columns), dtype), (1, 0, -2)
    padded = np.pad(src, [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)], constant_values=3)
    crop = tuple(slice(max(-b, 0), min(a, 0) or None) for b, a in zip(before, after, strict=True))
    check(lambda dst: primitive.Launch(stream, src.shape, src, before, after, 3, dst), padded[crop])


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex128])
@pytest.mark.parametrize("extent", [(3, 70, 301), (5, 99, 2), (1, 1, 299), (5, 99, 256)])
def test_copy_nd(stream, rng, extent, dtype):
    primitive = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, 3)
    src, box = numbers(rng, (6, 100, 302), dtype), tuple(slice(1, 1 + size) for size in extent)
    check(
        lambda dst: primitive.Launch(stream, dtype, dst, extent, (0, 0, 0), src, src.shape, (1, 1, 1), extent),
        src[box],
    )


@pytest.mark.parametrize("columns", [5, 64, 1300])
def test_copy_nd_leaves_gaps(stream, rng, columns):
    primitive = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, 2)
    src, extent = numbers(rng, (90, columns), np.float32), (90, columns)
    for begin, gap in ((0, 64), (3, 7)):
        out = np.full((90, columns + gap), 7, np.float32)
        expected = out.copy()
        expected[:, begin : begin + columns] = src
        primitive.Launch(stream, np.float32, out.reshape(-1), out.shape, (0, begin), src, src.shape, (0, 0), extent)
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("count", [1, 63, 64, 5000, 70_001])
def test_runs_of_bytes(stream, rng, count):
    src = numbers(rng, (count + 3,), np.uint8)[3:]
    copy, fill = (
        RequirePrimitive(MemcpyFactory, DeviceType.kCPU, MemcpyKind.kDtoD),
        RequirePrimitive(MemsetFactory, DeviceType.kCPU),
    )
    check(lambda out: copy.Launch(stream, out, src, count), src)
    check(lambda out: fill.Launch(stream, out, 0xC3, count), np.full(count, 0xC3, np.uint8))


def test_expand_to_strides_leaves_gaps(stream):
    primitive = RequirePrimitive(ExpandFactory, DeviceType.kCPU, np.float32, 2)
    out = np.zeros(100 * 64, np.float32)
    primitive.Launch(stream, (1, 33), np.arange(33, dtype=np.float32), (100, 33), out, dst_strides=(64, 1))
    expected = np.zeros((100, 64), np.float32)
    expected[:, :33] = np.arange(33)
    assert (out == expected.reshape(-1)).all()


@pytest.fixture
def few_are_near(monkeypatch):
    """Let launches prefetch if a source has more than 40,000 bytes."""
    monkeypatch.setattr(row_passes, "far_from", lambda: 40_000)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "factory", [SoftmaxFactory, LogSoftmaxFactory, SoftmaxBackwardFactory, LogSoftmaxBackwardFactory]
)
def test_rows_that_are_read_several_times(stream, rng, few_are_near, factory, dtype):
    """Rows of a launch that prefetches have the same bits as alone, where nothing is prefetched."""
    primitive = RequirePrimitive(factory, DeviceType.kCPU, dtype)
    num_sources = 1 if factory in (SoftmaxFactory, LogSoftmaxFactory) else 2
    for rows, cols in ((3001, 31), (83, 257), (67, 1051), (19, 4099)):
        sources = [rng.normal(size=rows * cols).astype(dtype) for _ in range(num_sources)]
        expected = np.empty(rows * cols, dtype)
        for row in range(rows):
            place = slice(row * cols, (row + 1) * cols)
            primitive.Launch(stream, 1, cols, *(source[place] for source in sources), expected[place])
        check(
            lambda out, rows=rows, cols=cols, sources=sources: primitive.Launch(stream, rows, cols, *sources, out),
            expected,
            (0, 3, 8, 40),
        )
        primitive.Launch(stream, rows, cols, *sources, sources[0])
        assert sources[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("index_type", [np.int32, np.uint64])
@pytest.mark.parametrize("row", [1, 4, 24, 64, 65, 128, 129, 200, 256, 1000, 3072, 9000, 700_000])
def test_gather(stream, rng, row, index_type):
    primitive = RequirePrimitive(GatherFactory, DeviceType.kCPU, np.int8, index_type)
    for count in (1, 5, 300) if row < 10_000 else (1, 2):
        params = numbers(rng, (50, row), np.int8)
        indices = rng.integers(0, 53, count).astype(index_type)
        found = np.where((indices < 50)[:, None], params[np.minimum(indices, 49).astype(np.int64)], 0).astype(np.int8)
        arguments = 1, 50, row, params.reshape(-1), count, indices
        check(lambda out, arguments=arguments: primitive.Launch(stream, *arguments, out), found)


@pytest.mark.parametrize("row", [3, 64, 300])
def test_gather_from_a_table_beyond_the_caches(stream, rng, row):
    """Rows of such a table are prefetched before they are copied."""
    rows = 2**24 // row + 2
    params = numbers(rng, (rows, row), np.int8)
    primitive = RequirePrimitive(GatherFactory, DeviceType.kCPU, np.int8, np.int64)
    for count in (0, 1, 63, 64, 65, 4000):
        indices = rng.integers(0, rows, count)
        arguments = 1, rows, row, params.reshape(-1), count, indices
        check(lambda out, arguments=arguments: primitive.Launch(stream, *arguments, out), params[indices], (0, 1, 63))


@pytest.mark.parametrize(("row", "count"), [(70, 17), (1, 1), (3, 2), (256, 1), (37, 100)])
def test_batch_gather(stream, rng, row, count):
    """Lines of the result also end in other groups than they begin in."""
    primitive = RequirePrimitive(BatchGatherFactory, DeviceType.kCPU, np.float32, np.int64)
    params, indices = numbers(rng, (5, 3, 20, row), np.float32), rng.integers(0, 20, (5, count))
    found = np.stack([params[batch][:, indices[batch]] for batch in range(5)])
    arguments = 5, 3, 20, row, params.reshape(-1), count, indices.reshape(-1)
    check(lambda out: primitive.Launch(stream, *arguments, out), found)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 7, 4096, 4097, 300_001])
def test_unary(stream, rng, count, dtype):
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kIdentity, dtype, dtype)
    src = numbers(rng, (count,), dtype)
    check(lambda out: primitive.Launch(stream, src, out, count), src)
    again = src.copy()
    primitive.Launch(stream, again, again, count)
    assert again.tobytes() == src.tobytes()


@pytest.mark.parametrize("dims", [(1, 1), (3, 5), (70, 3), (40, 64), (500, 700)])
@pytest.mark.parametrize(("op", "dst_type"), [(BinaryOp.kAdd, np.float32), (BinaryOp.kLessThan, np.bool_)])
def test_binary(stream, rng, dims, op, dst_type):
    key = op, np.float32, dst_type, 2
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, *key)
    a, b = rng.normal(size=(dims[0], 1)).astype(np.float32), rng.normal(size=(1, dims[1])).astype(np.float32)
    check(
        lambda out: primitive.Launch(stream, a.shape, a.reshape(-1), b.shape, b.reshape(-1), out),
        a + b if op is BinaryOp.kAdd else a < b,
    )
    sums = np.zeros(dims, np.float32)
    if op is BinaryOp.kAdd:
        primitive.Launch(stream, dims, sums.reshape(-1), b.shape, b.reshape(-1), sums.reshape(-1))
        assert (sums == np.broadcast_to(b, dims)).all()


LIGHT = [
    *((BinaryOp.kAdd, dtype, dtype) for dtype in (np.int8, np.uint16, np.int32, np.int64, np.float64)),
    *((BinaryOp.kMul, dtype, dtype) for dtype in (np.float16, np.complex64, np.complex128)),
    *((BinaryOp.kLessThan, dtype, np.bool_) for dtype in (np.int8, np.int64, np.float16)),
    (BinaryOp.kLogicalXor, np.bool_, np.bool_),
]


@pytest.mark.parametrize(("op", "src_type", "dst_type"), LIGHT)
def test_what_is_moved_in_lines_has_the_same_bits(stream, rng, op, src_type, dst_type):
    """Test vectors of each width, in ranges and rows that start at any element of a cache line."""
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, op, src_type, dst_type, 2)
    a, b = (rng.integers(0, 2, (37, 1501)).astype(src_type) for _ in range(2))
    device = stream.device()
    shifts = [shift for shift in (0, 2, 16, 48) if shift % np.dtype(dst_type).itemsize == 0]
    for dims0, dims1 in (((37, 1501), (37, 1501)), ((37, 1501), (1501,)), ((37, 1), (37, 1501))):
        x, y = a[:, : dims0[-1]].reshape(-1).copy(), b[: 37 ** (len(dims1) - 1)].reshape(-1).copy()
        expected = np.empty(37 * 1501, dst_type)
        device.force_calibration(everywhere(NEVER))
        primitive.Launch(stream, dims0, x, dims1, y, expected)
        device.force_calibration(everywhere(0))
        check(lambda out, x=x, y=y, d=(dims0, dims1): primitive.Launch(stream, d[0], x, d[1], y, out), expected, shifts)


def _cache(folder, level, size, processors):
    folder.mkdir()
    for name, text in (("level", level), ("size", size), ("shared_cpu_list", processors)):
        (folder / name).write_text(f"{text}\n")
    caches._caches.cache_clear()  # a process reads the files once


def test_the_last_caches(tmp_path):
    assert caches.last_level_caches(2, tmp_path / "nothing") >= 2**24
    _cache(tmp_path / "index0", 1, "32K", "0")
    _cache(tmp_path / "index2", 2, "1024K", "0,64")
    assert caches.last_level_caches(4, tmp_path) == 2 * 2**20
    _cache(tmp_path / "index3", 3, "32768K", "0-7,64-71")
    assert caches.last_level_caches(16, tmp_path) == 2**25
    assert caches.last_level_caches(17, tmp_path) == 2**26
    assert caches.last_level_caches(1, tmp_path) == 2**24  # other processors, perhaps of other guests, use it, too
    _cache(tmp_path / "index4", "?", "", "")
    assert caches.last_level_caches(16, tmp_path) == 2**25


COMPILE = """
import json
from ep.cpu.machine.kernel_cache import CACHE
CACHE.read = lambda name, form: None
from ep import BinaryOp, UnaryOp
from ep.cpu.kernels.functors import op_kernel
from ep.cpu.engine.move import byte_runs, gather_rows, gather_walk, pad, run_writers, walk
from ep.cpu.engine.move.run_writer import RunWriter
from ep.common.native.machine_code import LIBRARIES
from ep.cpu.lines import streaming
from ep.include import DataType
texts = {{}}
for call in {calls}:
    before = len(LIBRARIES)
    eval(call)
    assert len(LIBRARIES) > before, f"{{call}} compiled nothing"
    texts[call] = LIBRARIES[-1].get_asm_str()
print(json.dumps(texts))
"""
IN_LINES = [
    "streaming.stream()",
    "byte_runs.copy_task()",
    "byte_runs.set_task()",
    "pad.task(4)",
    *(f"run_writers.writer(RunWriter({way}))" for way in ("'copy'", "'fill', 8", "'weave', 2, 3", "'unweave', 4, 3")),
    "gather_walk.task()",
    "gather_rows.mover(DataType.kInt64, gather_rows.ANY_SIZE)",
    "op_kernel(UnaryOp.kRelu, DataType.kFloat16, DataType.kFloat16, streaming=True)",
    "op_kernel(BinaryOp.kAdd, DataType.kInt8, DataType.kInt8, streaming=True)",
]
FENCED = ["gather_walk.task()", "streaming.stream()", "walk.task()", "pad.task(1)", "byte_runs.set_task()"]

reads_instructions = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="reads the instructions of x86-64"
)


@pytest.fixture(scope="module")
def assembly():
    """Return the assembly of every call. No kernel is loaded from the cache: a loaded kernel has no assembly."""
    calls = list(dict.fromkeys(IN_LINES + FENCED))
    return json.loads(run(COMPILE.format(calls=calls)))


@reads_instructions
@pytest.mark.parametrize("call", IN_LINES)
def test_whole_lines_go_past_the_caches(assembly, call):
    assert len(re.findall(r"\tv?movnt(?:p[sd]|dq)\t%[xyz]mm", assembly[call])) >= 1


@reads_instructions
@pytest.mark.parametrize("call", FENCED)
def test_tasks_that_stream_end_with_a_fence(assembly, call):
    assert "\tsfence" in assembly[call]
