"""Plans of the map engine and of the move engine."""

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.common.bounded_cache import KEPT
from ep.common.native.fields import word, words
from ep.common.native.record import Record
from ep.common.primitive.broadcast import StridedWalk
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.engine.move.run_writer import transposed, transposing_writers
from ep.include import primitive as primitives
from ep.include.primitive import CopyNdFactory
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.reduce_op import ReduceOp
from tests.profiles import calls_of
from tests.subprocesses import run


def test_making_a_plan_compiles_nothing():
    """A plan only names the kernels to compile; making it does not import the compiler, either."""
    code = """
import sys
from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import as_expand_shape
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.move.plan import move_plan
from ep.include import DataType
types = (DataType.kFloat,) * 3
signature, dims = signatures.BROADCAST_ELEMENTWISE_BINARY, ((50, 3, 1), (3, 2))
plan = broadcast_plan(signature, dims, (50, 3, 2), types, (150, 6, 300))
assert [move.writer.kind for move in plan.moves] == ["each", "repeat_tiny"], plan.moves
shape = as_expand_shape((5, 1, 4), (5, 3, 4), None, None, 8)
assert move_plan(signatures.EXPAND, shape.walk(), types[0], shape.counts()).writer == ("each", 16, 3)
assert not {"numba", "llvmlite"} & sys.modules.keys()
"""
    run(code)


def test_launches_of_different_dims_take_turns(rng):
    """A plan is found by comparison with the last two launches, or by hashing; a replaced plan is not found again."""
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    copy = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, 2)
    parts = [
        rng.integers(0, 99, (7, width)).astype(dtype) for width, dtype in ((3, "i4"), (5, "i4"), (3, "f4"), (1, "i4"))
    ]
    total = np.dtype("i4")
    for _ in range(3):
        out, begin = np.zeros((7, 12), total), 0
        for part in parts:
            width = part.shape[1]
            position, whole = (0, begin), out.view(part.dtype)
            copy.Launch(stream, part.dtype, whole, whole.shape, position, part, part.shape, (0, 0), part.shape)
            begin += width
        assert out.tobytes() == np.hstack([part.view(total) for part in parts]).tobytes()


def test_a_box_that_moves_within_one_array_at_several_distances(rng):
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    copy = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, 2)
    memory, dims = rng.integers(0, 99, 400), (4, 10)
    for shift in (0, 40, 0, 80, 40, 80):
        src, dst = memory[:40], memory[shift : shift + 40]
        expected = memory.copy()
        expected[shift : shift + 40].reshape(dims)[:, 5:] = src.reshape(dims)[:, :5]
        copy.Launch(stream, memory.dtype, dst, dims, (0, 5), src, dims, (0, 0), (4, 5))
        assert (memory == expected).all()


def test_words_that_are_written_at_once():
    class Some(Record):
        first = word()
        second = words(2)
        third = word()

    plan = LoopNest(Some)
    plan.set_words(adjacent(Some, "second", "third"), (5, -6, 2**63 - 1))
    assert plan.words.tolist() == [0, 5, -6, 2**63 - 1]
    with pytest.raises(OverflowError, match=str(2**63)):
        plan.set_words(0, (2**63,))
    with pytest.raises(ValueError, match="follow one another"):
        adjacent(Some, "first", "third")


@pytest.mark.parametrize("streamed_from", [0, 2**62])
def test_writers_of_transposed_blocks_are_among_those_that_are_prepared(streamed_from):
    """Compare their names in the cache, in which True is not 1."""
    _, writer = transposed(StridedWalk((99, 101), (1, 99), (101, 1)), 4, streamed_from)
    assert repr(writer) in map(repr, transposing_writers(1, 16))


F32 = np.dtype(np.float32)
A, B, C = np.ones(2**16, F32), np.ones(2**16, F32), np.zeros(2**16, F32)
CONDITION = np.ones(2**16, bool)
N = BlasTransposeType.N

NEW_DIMS = {
    # the request of a primitive, the arguments of a launch of n, and the most Python calls of a launch of new dims
    "binary, same": (
        ("BroadcastElementwiseBinary", BinaryOp.kAdd, F32, F32, 4),
        lambda n: ((n, 3), A, (n, 3), B, C),
        38,
    ),
    "binary, row": (("BroadcastElementwiseBinary", BinaryOp.kAdd, F32, F32, 4), lambda n: ((n, 3), A, (3,), B, C), 58),
    "unary": (("BroadcastElementwiseUnary", UnaryOp.kExp, F32, F32, 4), lambda n: ((n, 3), A, (n, 3), C), 52),
    "expand": (("Expand", F32, 4), lambda n: ((n, 1), A, (n, 5), C), 61),
    "permute": (("Permute", 4), lambda n: (F32, (n, 4), A, (1, 0), C), 80),
    "copy_nd": (("CopyNd", 4), lambda n: (F32, C, (n + 9, 8), (3, 1), A, (n + 3, 4), (1, 0), (n, 3)), 76),
    "copy_nd, place": (("CopyNd", 4), lambda n: (F32, C, (8, 4000), (1, n), A, (8, 1), (0, 0), (3, 1)), 76),
    "pad": (("ConstantPad", F32), lambda n: ((n, 3), A, (1, 0), (0, 2), 0, C), 62),
    "where": (("Where", np.dtype(bool), F32, 4), lambda n: ((n, 1), CONDITION, (n, 3), A, (3,), B, C), 82),
    "reduce": (("Reduce", ReduceOp.kSum, F32, 4), lambda n: ((n, 4), A, (1,), C), 56),
    "matmul": (("BroadcastMatmul", F32, N, N, 4), lambda n: (1, (n, 2, 3), A, (3, 2), B, 0, (n, 2, 2), C), 59),
}


@pytest.fixture
def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


def made(name, *arguments):
    return RequirePrimitive(getattr(primitives, f"{name}Factory"), DeviceType.kCPU, *arguments)


@pytest.mark.parametrize("case", NEW_DIMS)
def test_a_launch_of_new_dims_takes_few_steps_of_python(stream, case):
    """Nothing is checked twice, and a plan is made directly."""
    request, arguments, most = NEW_DIMS[case]
    primitive = made(*request)
    for n in (5, 6, 7):
        primitive.Launch(stream, *arguments(n))  # compiles
    assert max(calls_of(lambda n=n: primitive.Launch(stream, *arguments(n))) for n in range(100, 110)) <= most
    again = [calls_of(lambda n=n: primitive.Launch(stream, *arguments(n))) for n in (109, 109, 108)]
    assert max(again) <= 12  # with the lambdas of this test


@pytest.mark.parametrize("case", NEW_DIMS)
def test_the_plans_that_were_used_last_are_kept(stream, case):
    request, arguments, most = NEW_DIMS[case]
    primitive = made(*request)
    primitive.Launch(stream, *arguments(3))
    for n in range(4, 4 + 2 * KEPT + 10):
        primitive.Launch(stream, *arguments(n))
        if n % 100 == 0:
            assert calls_of(lambda: primitive.Launch(stream, *arguments(3))) <= 20 < most


@pytest.mark.parametrize("case", NEW_DIMS)
def test_a_launch_of_new_dims_that_is_refused(stream, case):
    """An operand is too small, of another type, or not an array; strides or sizes do not fit in 64 bits."""
    request, arguments, _ = NEW_DIMS[case]
    primitive = made(*request)
    primitive.Launch(stream, *arguments(3))
    C[:] = 7
    before = C.copy()
    for wrong in (A[:1], A.astype(np.int16), [1.0], A[::2]):
        given = [wrong if value is A else value for value in arguments(50)]
        with pytest.raises((TypeError, ValueError)):
            primitive.Launch(stream, *given)
    for n in (2**40, 2**62):
        with pytest.raises(ValueError, match=r"elements|reach outside"):
            primitive.Launch(stream, *arguments(n))
    assert C.tobytes() == before.tobytes()
    primitive.Launch(stream, *arguments(50))
    assert C.tobytes() != before.tobytes()


def test_windows_are_no_blocks_to_transpose():
    """The runs of src of windows overlap, so that they are in the caches when they are read again."""
    windows = StridedWalk((3, 7, 7, 112, 112), (52900, 230, 1, 460, 2), (614656, 87808, 12544, 112, 1))
    assert transposed(windows, 4, 2**62) is None
    beside_each_other = StridedWalk((7, 112), (1, 7), (112, 1))
    assert transposed(beside_each_other, 4, 2**62) is not None
