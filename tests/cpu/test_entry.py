"""Launch on the CPU, in compiled code: what it accepts and refuses, repeats, keeps alive, and calls of Python."""

import copy
import gc
import inspect
import pickle
import sys
import weakref

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.engine.launchable import Launchable
from ep.garbage import garbage_waits
from ep.include import DataType
from ep.include import primitive as primitives
from tests.profiles import calls_of
from tests.subprocesses import run
from tests.threads import run_together

T = DataType
MANY = 40  # more dims than a primitive remembers

F32 = np.dtype(np.float32)


@pytest.fixture
def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


def made(name, *arguments):
    return RequirePrimitive(getattr(primitives, f"{name}Factory"), DeviceType.kCPU, *arguments)


@pytest.fixture
def add(stream):
    primitive = made("BroadcastElementwiseBinary", BinaryOp.kAdd, F32, F32, 4)
    one = np.ones(1, F32)
    primitive.Launch(stream, (1,), one, (1,), one, np.zeros(1, F32))
    return primitive


@pytest.fixture
def relu(stream):
    primitive = made("ElementwiseUnary", UnaryOp.kRelu, F32, F32)
    primitive.Launch(stream, np.ones(1, F32), np.zeros(1, F32), 1)
    return primitive


def drawn(rng, memory, dtype):
    """Return an array at a random place of `memory`, so that many overlap; some have a wrong type or layout."""
    begin, length, kind = int(rng.integers(0, 24)), int(rng.integers(0, 12)), int(rng.integers(12))
    dtype = np.dtype(np.int32 if kind == 0 else dtype)
    array = memory[8 * begin :][: length * dtype.itemsize].view(dtype)
    if kind == 1:
        return array[::2]
    if kind == 2:
        array = array.copy()
        array.flags.writeable = False
    return array


def fits(array, dtype, count):
    return array.dtype == dtype and array.flags.c_contiguous and array.size >= count


def meet(one, count, other, others):
    """Whether the first elements of two arrays have bytes in common."""
    begin, there = one.ctypes.data, other.ctypes.data
    ends = begin + count * one.itemsize, there + others * other.itemsize
    return begin < ends[1] and there < ends[0]


@pytest.mark.parametrize("name", ["relu", "gather"])
def test_arrays_anywhere_in_memory_are_accepted_or_refused_by_the_contract(name, stream, rng, relu):
    gather, memory, counts = made("Gather", F32, T.kInt64), np.zeros(8 * 40, np.uint8), {True: 0, False: 0}
    for _ in range(4000):
        n, m = (int(size) for size in rng.integers(1, 5, 2))
        src, dst, ids = drawn(rng, memory, F32), drawn(rng, memory, F32), drawn(rng, memory, np.int64)
        right = fits(src, F32, n) and dst.flags.writeable
        if name == "relu":
            same = src.ctypes.data == dst.ctypes.data
            right = right and fits(dst, F32, n) and (same or not meet(src, n, dst, n))
            launch = lambda: relu.Launch(stream, src, dst, n)  # noqa: B023, E731
        else:
            right = right and fits(ids, np.int64, m) and fits(dst, F32, m)
            right = right and not (meet(dst, m, src, n) or meet(dst, m, ids, m))
            launch = lambda: gather.Launch(stream, 1, n, 1, src, m, ids, dst, 0)  # noqa: B023, E731
        counts[right] += 1
        before = memory.copy()
        if right:
            launch()
        else:
            with pytest.raises((TypeError, ValueError, IndexError)):
                launch()
            assert (memory == before).all()
        memory[:] = 0  # ids are 0
    assert min(counts.values()) > 100


def test_sizes_whose_product_wraps_around_are_refused(stream):
    gather, x, ids = made("Gather", F32, T.kInt64), np.zeros(4, F32), np.zeros(1, np.int64)
    gather.Launch(stream, 1, 1, 4, x, 1, ids, np.zeros(4, F32))
    for sizes in (2**32, 1, 2**32), (1, 2**32, 2**32), (1, -1, -4), ("1", 1, 4), (2**70, 1, 1), (None, 1, 4):
        with pytest.raises((TypeError, ValueError)):  # the low 64 bits of 2^64 are 0
            gather.Launch(stream, *sizes, x, 1, ids, np.zeros(4, F32))


def test_a_data_type_that_launch_is_given(stream):
    permute = made("Permute", 2)
    arrays = {dtype: np.arange(6).astype(dtype) for dtype in ("f4", "i1")}
    for given in ("f4", "i1", "f4", "i1"):
        for dtype, x in arrays.items():
            out = np.zeros(6, dtype)
            if dtype == given:
                permute.Launch(stream, np.dtype(given), (2, 3), x, (1, 0), out)
                assert out.tolist() == [0, 3, 1, 4, 2, 5]
                continue
            with pytest.raises(TypeError, match="dtype"):
                permute.Launch(stream, np.dtype(given), (2, 3), x, (1, 0), out)


class Index:
    """An integer whose conversion runs `meanwhile`."""

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile

    def __index__(self):
        self.meanwhile()
        return 4


def test_launch_is_compiled_code_that_says_what_it_takes(add, relu):
    for primitive, names in (
        (relu, ["stream", "src", "dst", "count"]),
        (add, ["stream", "src0_dims", "src0", "src1_dims", "src1", "dst"]),
    ):
        assert inspect.ismethoddescriptor(type(primitive).Launch)
        assert list(inspect.signature(primitive.Launch).parameters) == names
        assert inspect.getdoc(type(primitive).Launch)
        assert primitive.Launch.__self__ is primitive
    assert inspect.signature(made("Gather", F32, T.kInt64).Launch).parameters["offset"].default == 0


def test_dims_are_compared_by_what_they_are(add, stream):
    """Python finds a plan by any value that equals its dims; compiled code finds only dims of integers."""

    class Dims(tuple):
        pass

    x, out = np.ones(600, F32), np.zeros(600, F32)
    for _ in range(2):
        for dims in (300, 2), tuple(np.array([300, 2]).tolist()), Dims((300, 2)), [300, 2], (np.int64(300), 2):
            out[:] = 0
            add.Launch(stream, dims, x, (2,), x, out)
            assert (out == 2).all()
        for wrong in (300.0, 2), (300, 2 + 0j), Dims((300, 2.0)), (300, "2"), 600, None, ((300,), 2):
            with pytest.raises(TypeError):
                add.Launch(stream, wrong, x, (2,), x, out)
    for dims in (1, 4), (True, 4), (1, 4):  # True is an integer, but its type is not int
        out[:] = 0
        add.Launch(stream, dims, x, (4,), x, out)
        assert out.sum() == 8


def test_more_dims_than_are_remembered_take_turns(add, stream):
    x, out = np.ones(MANY, F32), np.zeros(MANY, F32)
    for _ in range(3):
        for n in range(1, MANY):
            out[:] = 0
            add.Launch(stream, (n,), x, (1,), x, out)
            assert out.sum() == 2 * n


def test_numbers_are_known_again_by_what_they_are(stream):
    """Numbers that compare equal but differ are not mistaken for each other; launches take turns with arrays."""
    primitive = made("BroadcastElementwiseBinary", BinaryOp.kDiv, F32, F32, 1)
    x, out = np.ones(4, F32), np.zeros(4, F32)
    numbers = 0.0, -0.0, float("nan"), 2.5, np.float32(2.5), 2, True, np.full((), 4, F32), np.full(1, 4, F32), 10**9
    for _ in range(3):
        for number in numbers:
            for given in number, copy.deepcopy(number), number:
                primitive.Launch(stream, (4,), x, (), given, out)
                with np.errstate(divide="ignore"):
                    np.testing.assert_array_equal(out, x / np.float32(np.reshape(number, ())))
        for wrong in None, "2", np.zeros(0, F32), np.zeros((), np.float64), np.ndarray:
            with pytest.raises((TypeError, ValueError)):
                primitive.Launch(stream, (4,), x, (), wrong, out)
        with pytest.raises(TypeError):
            primitive.Launch(stream, (4,), 2.5, (), x, out)


def test_numbers_that_take_turns_with_arrays_in_all_places(stream, rng):
    where = made("Where", T.kBool, T.kFloat, 1)
    data = np.array([1, 2], F32), np.array(3, F32), 4.0, 5
    kinds = (np.array([True, False]), np.array(False), True, False), data, data
    for _ in range(400):
        given = [one[int(rng.integers(len(one)))] for one in kinds]
        dims = [np.shape(one) for one in given]
        out = np.zeros(np.broadcast_shapes(*dims), F32)
        where.Launch(stream, *[each for pair in zip(dims, given, strict=True) for each in pair], out)
        np.testing.assert_array_equal(out, np.where(*given))


def test_launches_that_were_done_before_call_no_python(add, stream):
    x, out = np.ones(200, F32), np.zeros(200, F32)
    one_hot, index = made("OneHot", T.kInt32, F32), np.zeros(200, np.int32)

    def launches():
        for n in range(1, 40):
            half = n / 2  # another object each time
            add.Launch(stream, (n,), x, (n,), x, out)
            add.Launch(stream, (n,), x, (), half, dst=out)
            one_hot.Launch(stream, index, out, 1.0, half, n, -1, 4)

    launches()
    assert calls_of(launches) == 1  # the call of `launches` itself


def test_what_hashing_and_comparing_dims_does_meanwhile(add, stream):
    """The hash or comparison launches, makes the primitive anew, collects garbage, or raises."""
    x, inner, out = np.ones(40, F32), np.zeros(40, F32), np.zeros(40, F32)

    class Stop(Exception):
        pass

    class Dims(tuple):
        meanwhile: object

        def __hash__(self):
            self.meanwhile()
            return super().__hash__()

        def __eq__(self, other):
            self.meanwhile()
            return super().__eq__(other)

    def launch_another():
        add.Launch(stream, (3,), x, (3,), x, inner)

    def stop():
        raise Stop

    for n in range(4, 40):
        add.Launch(stream, (n,), x, (n,), x, out)
        for meanwhile in launch_another, lambda: add.__init__(add.request), gc.collect:
            dims = Dims((n - 2,))
            dims.meanwhile = meanwhile
            out[:] = 0
            add.Launch(stream, dims, x, dims, x, out)
            assert out.sum() == 2 * (n - 2)
    dims.meanwhile = stop
    add.__init__(add.request)  # it has no plan that is found without hashing
    with pytest.raises(Stop):
        add.Launch(stream, dims, x, dims, x, out)


def wrong_values():
    read_only = np.zeros(4, F32)
    read_only.flags.writeable = False
    masked = np.ma.masked_array(np.zeros(4, F32), [0, 1, 0, 0])
    return [
        None, 0, 4.5, "text", (), [], object(), F32, np.zeros(4), np.zeros(3, F32), np.zeros(8, F32)[::2],
        masked, np.float32, np.array(1.5), np.empty(4, object), 2**80, type, Launchable(),
    ]  # fmt: skip


def test_anything_in_any_place_is_done_or_refused_as_by_the_function_in_python(add, relu, stream):
    gather = made("Gather", F32, T.kInt64)
    fill, total = made("Fill", F32), made("Add", F32)
    x, index = np.arange(4, dtype=F32), np.arange(4)
    launches = [
        (relu, (stream, x, np.zeros(4, F32), 4)),
        (add, (stream, (4,), x, (4,), x, np.zeros(4, F32))),
        (gather, (stream, 1, 4, 1, x, 4, index, np.zeros(4, F32), 0)),
        (fill, (stream, np.zeros(4, F32), 1.5, 4)),
        (total, (stream, (x, x), np.zeros(4, F32), 4)),
        (made("OneHot", T.kInt64, F32), (stream, index, np.zeros(16, F32), 1.5, 0.5, 4, 0, 4)),
        (made("Where", T.kInt64, F32, 1), (stream, (4,), index, (), 2.5, (4,), x, np.zeros(4, F32))),
    ]

    def outcome(launch, arguments):
        try:
            return launch(*arguments)
        except Exception as error:
            return type(error), str(error)

    for primitive, right in launches:
        primitive.Launch(*right)
        written = primitive._written
        for place in range(len(right)):
            for value in (*wrong_values(), x, -1, 3, True):
                arguments = (*right[:place], value, *right[place + 1 :])
                expected = outcome(written, (primitive, *arguments))
                for _ in range(2):
                    assert outcome(primitive.Launch, arguments) == expected, (primitive, place, value)
        for arguments in (), right[:-3], (*right, 1, 2), (*right, *range(50)):
            with pytest.raises(TypeError):
                primitive.Launch(*arguments)
        with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
            primitive.Launch(*right, other=1)
        primitive.Launch(*right)


def test_keywords_and_defaults(relu, stream):
    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    relu.Launch(dst=out, count=4, stream=stream, src=x)
    assert (out == x).all()
    with pytest.raises(TypeError, match="multiple values"):
        relu.Launch(stream, x, out, 4, src=x)
    expand = made("Expand", F32, 4)
    for _ in range(3):
        out = np.zeros(8, F32)
        expand.Launch(stream, (2, 2), x, (2, 2), out, dst_strides=(4, 2))
        assert out.tolist() == [0, 0, 1, 0, 2, 0, 3, 0]
        expand.Launch(stream, (2, 2), x, (2, 2), out)
        assert out[:4].tolist() == [0, 1, 2, 3]


def test_arrays_of_other_classes_and_places(relu, stream, tmp_path):
    class Array(np.ndarray):
        pass

    mapped = np.memmap(tmp_path / "mapped", F32, "w+", shape=(4,))
    for array in np.zeros(4, F32).view(Array), mapped, np.zeros((2, 2), F32), np.zeros(4, "=f4"):
        relu.Launch(stream, np.arange(4, dtype=F32), array, 4)
        assert array.ravel().tolist() == [0, 1, 2, 3]
    number = np.zeros((), F32)
    relu.Launch(stream, np.full((), 2, F32), number, 1)
    assert number == 2


def test_what_an_integer_does_meanwhile(relu, stream):
    """The conversion launches the same primitive, frees arrays that have no other reference, or raises."""
    x = np.arange(4, dtype=F32)
    inner, out = np.zeros(4, F32), np.zeros(4, F32)
    relu.Launch(stream, x, out, Index(lambda: relu.Launch(stream, x, inner, 4)))
    assert (out == x).all()
    assert (inner == x).all()
    held = [np.zeros(4, F32)]
    relu.Launch(stream, x, held[0], Index(held.clear))

    class Stop(Exception):
        pass

    def stop():
        raise Stop

    out[:] = 0
    for _ in range(3):
        with pytest.raises(Stop):
            relu.Launch(stream, x, out, Index(stop))
    assert not out.any()


def test_launches_keep_no_references(add, stream):
    """Launches keep no references to arguments or None, and nothing keeps a primitive alive."""
    x, out, dims = np.ones(4, F32), np.zeros(4, F32), tuple(map(int, "22"))
    total = made("Add", F32)

    def launches():
        add.Launch(stream, dims, x, dims, x, out)
        add.Launch(stream, dims, x, dims, src1=x, dst=out)
        total.Launch(stream, [x, x], out, 4)
        with pytest.raises(ValueError, match="at least 400"):
            add.Launch(stream, (400,), x, (400,), x, out)
        with pytest.raises(TypeError):
            add.Launch(stream, dims, x, dims, 3, out)

    for _ in range(30):
        launches()
    watched = stream, x, out, add, dims, None
    with garbage_waits():  # objects of earlier tests hold thousands of references to None
        before = [sys.getrefcount(one) for one in watched]
        for _ in range(100):
            launches()
        after = [sys.getrefcount(one) for one in watched]
        assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 30, (before, after)

        primitive = made("BroadcastElementwiseBinary", BinaryOp.kAdd, F32, F32, 4)
        primitive.Launch(stream, dims, x, dims, x, out)
        launch, watched = primitive.Launch, weakref.ref(primitive)
        del primitive
        launch(stream, dims, x, dims, x, out)
        del launch
        assert watched() is None


def test_threads_that_launch_in_turns(add, stream):
    """Each thread replaces the plan that the others would find, and drops those least recently used."""
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        x, out = rng.random(900, F32), np.zeros(900, F32)
        for rows, columns in rng.integers(1, 30, (2000, 2)).tolist():  # more dims than a primitive remembers
            count = rows * columns
            add.Launch(stream, (rows, columns), x, (columns,), x, out)
            if not (out[:count].reshape(rows, -1) == x[:count].reshape(rows, -1) + x[:columns]).all():
                wrong.append((rows, columns))

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        run_together(work, [(seed,) for seed in range(6)])
    finally:
        sys.setswitchinterval(switch)
    assert not wrong


def test_a_class_that_has_a_launch_of_its_own(relu, stream):
    class Twice(type(relu)):
        def Launch(self, stream, src, dst, count):
            super().Launch(stream, src, dst, count)
            dst *= 2

    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    twice = Twice(relu.request)
    for _ in range(2):
        twice.Launch(stream, x, out, 4)
        assert (out == 2 * x).all()
    relu.Launch(stream, x, out, 4)
    assert (out == x).all()


def test_a_primitive_without_a_state_is_refused(relu, stream):
    x, out = np.ones(4, F32), np.zeros(4, F32)
    kind = type(relu)
    with pytest.raises(TypeError, match=r"ElementwiseUnaryImpl\.__init__ has not been called"):
        kind.__new__(kind).Launch(stream, x, out, 4)
    with pytest.raises(TypeError):
        kind.Launch(stream, x, out, 4)

    class Late(kind):
        def __init__(self, request):
            self.Launch(stream, x, out, 4)

    with pytest.raises(TypeError, match=r"Late\.__init__ has not been called"):
        Late(relu.request)
    assert not out.any()


@pytest.mark.parametrize("carried", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_have_a_state_of_their_own(carried, add, stream):
    x, out = np.ones(4, F32), np.zeros(4, F32)
    other = carried(add)
    for primitive in add, other:
        primitive.Launch(stream, (4,), x, (), 2.0, out)
        assert (out == 3).all()


def test_a_primitive_that_is_made_again_meanwhile(relu, stream):
    x, out = np.arange(4, dtype=F32), np.zeros(4, F32)
    for _ in range(3):
        relu.Launch(stream, x, out, Index(lambda: relu.__init__(relu.request)))
        assert (out == x).all()


def test_a_method_that_was_taken_before_anything_was_compiled():
    run(
        """
import numpy as np
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kRelu, "float32", "float32")
before, x = relu.Launch, np.arange(-2, 2, dtype=np.float32)
for launch in before, before, relu.Launch:
    out = np.zeros(4, np.float32)
    launch(stream, x, out, count=4)
    assert out.tolist() == [0, 0, 0, 1]
"""
    )
