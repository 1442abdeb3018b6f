"""Calls of `ep.ops` like earlier ones have the results and errors of calls that are analysed again."""

import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import ep.ops
from ep.garbage import garbage_waits
from ep.ops.declare.operator import operators
from tests.profiles import calls_of
from tests.sbp.test_exhaustion import ELEMENTWISE, OTHERS, name_of
from tests.subprocesses import run
from tests.threads import run_together

CASES = [*ELEMENTWISE, *OTHERS]


class Unknown(np.ndarray):
    """A subclass of ndarray: calls with it have no key."""


def read_anew(value):
    if isinstance(value, list | tuple):
        return type(value)(map(read_anew, value))
    return value.view(Unknown) if isinstance(value, np.ndarray) else value


def functions_called(call):
    """Return the number of Python functions that a call runs."""
    return calls_of(call) - 1  # without `call` itself


def same(result, expected):
    results, others = (one if isinstance(one, list) else [one] for one in (result, expected))
    for one, other in zip(results, others, strict=True):
        assert type(one) is np.ndarray
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def error_of(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011  the test compares the exceptions
        call()
    return type(caught.value), str(caught.value)


FUNCTIONS = {
    **{"conv": 2, "conv_integer": 2, "matmul": 4, "matmul_integer": 2, "ravel_multi_index": 5, "slice": 5},
    **dict.fromkeys(("gather", "gather_grad", "log_softmax_grad", "scatter_rows", "softmax_grad"), 3),
}
"""The functions of Python that a repeated call of an operator runs, where they are more than one."""


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_known_call_gives_what_an_unknown_one_gives(case, rng):
    function = getattr(ep.ops, case.name)
    if case.name in ("softmax_grad", "log_softmax_grad"):  # they take all by name
        function = lambda y, dy, axis, call=function, **kwargs: call(dy=dy, y=y, axis=axis, **kwargs)  # noqa: E731
    inputs = [
        np.asarray(draw(rng, shape)).astype(dtype)
        for draw, shape, dtype in zip(case.draws[0], case.shapes, case.dtypes, strict=True)
    ]
    given = [inputs] if case.sequence else inputs
    with np.errstate(all="ignore"):
        expected = function(*read_anew(given), *case.args, **case.kwargs)
        for _ in range(2):  # the second call makes the list of launches
            same(function(*given, *case.args, **case.kwargs), expected)
        assert functions_called(lambda: function(*given, *case.args, **case.kwargs)) <= FUNCTIONS.get(case.name, 1)
        for _ in range(2):
            same(function(*given, *case.args, **case.kwargs), expected)
        for one in inputs:  # a kept call does not keep the data
            one[...] = one[::-1].copy() if one.ndim else one
        same(
            function(*given, *case.args, **case.kwargs),
            function(*read_anew(given), *case.args, **case.kwargs),
        )


def test_all_operators_are_there():
    assert {case.operator.name for case in CASES} == {one.name for one in operators()}


X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
I = np.arange(24).reshape(4, 6)  # noqa: E741
H = X.astype(np.float16)
AT = np.array([3, 0, 1])
RESULT = np.empty_like(X)

FEW = {
    "number": (5, lambda: ep.ops.mul(X, 2.5)),
    "out": (1, lambda: ep.ops.add(X, X, out=RESULT)),
    "where": (5, lambda: ep.ops.where(X > 0, X, 0.0)),
    "transpose": (1, lambda: ep.ops.transpose(X)),
    "gather": (1, lambda: ep.ops.gather(X, AT)),
    "stack": (1, lambda: ep.ops.stack((X, X))),
    "scatter_rows": (1, lambda: ep.ops.scatter_rows(X, AT, X[:3])),
    "softmax_grad": (2, lambda: ep.ops.softmax_grad(y=X, dy=X)),
    "var": (29, lambda: ep.ops.var(X, 1)),
}


@pytest.mark.parametrize("name", FEW)
def test_a_known_call_takes_few_functions(name):
    most, call = FEW[name]
    for _ in range(3):  # the launches find their plans without hashing, too
        call()
    assert functions_called(call) <= most


def test_numbers_are_converted_at_each_call():
    for number in (2.5, -0.0, 0.0, float("nan"), 1e-50, 3, True, False, float("inf"), -1):
        for x in (X, H, X.astype(np.float64)):
            same(ep.ops.mul(x, number), ep.ops.mul(x.view(Unknown), number))
            same(ep.ops.sub(number, x), ep.ops.sub(number, x.view(Unknown)))
    for number in (1, True, 2.0, 0, False, 0.0, -3):
        same(ep.ops.add(I, number), ep.ops.add(I.view(Unknown), number))
    same(ep.ops.mul(X, 0.0), X * np.float32(0.0))
    same(ep.ops.mul(X, -0.0), X * np.float32(-0.0))


class Float(float):
    """Numbers that all have the same repr."""

    def __repr__(self):
        return "a number"


def test_numbers_of_other_classes():
    for number in (Float(2), Float(3)):
        same(ep.ops.mul(X, number), X * np.float32(number))
    for number in (np.float64(2), np.float64(3), np.int8(2)):
        same(ep.ops.mul(X, number), X * np.float32(number))


def test_attributes_that_compare_equal_are_told_apart():
    assert ep.ops.sum(X, axis=1).shape == (4,)
    assert issubclass(error_of(lambda: ep.ops.sum(X, axis=True))[0], TypeError)
    assert issubclass(error_of(lambda: ep.ops.sum(X, axis=1.0))[0], TypeError)
    assert ep.ops.sum(X, axis=1, keepdims=True).shape == (4, 1)
    assert issubclass(error_of(lambda: ep.ops.sum(X, axis=1, keepdims=1))[0], TypeError)
    assert ep.ops.permute(X, (1, 0)).shape == (6, 4)
    assert issubclass(error_of(lambda: ep.ops.permute(X, (1.0, 0)))[0], TypeError)
    assert ep.ops.slice(X, slice(0, 1)).shape == (1, 6)
    assert issubclass(error_of(lambda: ep.ops.slice(X, slice(0, 1.0)))[0], TypeError)
    assert ep.ops.slice(X, (0, 1)).shape == (1, 6)
    assert issubclass(error_of(lambda: ep.ops.slice(X, (0, 1.0)))[0], TypeError)
    zeros = [np.signbit(ep.ops.threshold(np.float32([-1]), 0.0, value))[0] for value in (0.0, -0.0, 0.0)]
    assert zeros == [False, True, False]
    nans = [ep.ops.threshold(np.float32([-1]), 0.0, value)[0] for value in (float("nan"), 1.0, float("nan"))]
    assert np.isnan(nans).tolist() == [True, False, True]
    assert [ep.ops.one_hot(AT, 4, on).dtype for on in (1, 1.0, True, 1)] == ["i8", "f8", "i8", "i8"]
    assert ep.ops.pad(X, 1, constant_values=-0.0).tobytes() != ep.ops.pad(X, 1, constant_values=0.0).tobytes()


def test_arguments_by_name_and_by_position():
    for _ in range(2):
        same(ep.ops.sum(X, 0), ep.ops.sum(X, axis=0))
        same(ep.ops.sub(x=X, y=I.astype("f4")), ep.ops.sub(X, I.astype("f4")))
        same(ep.ops.leaky_relu(X, attr0=0.5), ep.ops.leaky_relu(X, alpha=0.5))
        same(ep.ops.exp(X, out=None), ep.ops.exp(X))
        for wrong in (
            lambda: ep.ops.concat([X, X], out=np.empty((8, 6), np.float32)),
            lambda: ep.ops.concat([X, X], out=None),
            lambda: ep.ops.add(X, X, z=1),
            lambda: ep.ops.add(X),
            lambda: ep.ops.add(X, X, X),
            lambda: ep.ops.sum(X, axes=0),
        ):
            assert issubclass(error_of(wrong)[0], TypeError)


def buffers():
    return np.zeros(48, np.float32), np.zeros((4, 6), np.float32), np.frombuffer(bytes(96), np.float32).reshape(4, 6)


MEMORY, OUT, READ_ONLY = buffers()
LIES = MEMORY[:24].reshape(4, 6), MEMORY[6:30].reshape(4, 6)
WRONG = {
    "dtype of out": lambda a: ep.ops.add(a(X), a(X), out=np.zeros((4, 6))),
    "shape of out": lambda a: ep.ops.add(a(X), a(X), out=MEMORY[:24]),
    "out is read-only": lambda a: ep.ops.add(a(X), a(X), out=READ_ONLY),
    "out is a list": lambda a: ep.ops.add(a(X), a(X), out=[1]),
    "out has a mask": lambda a: ep.ops.add(a(X), a(X), out=np.ma.zeros((4, 6), np.float32)),
    "out overlaps": lambda a: ep.ops.add(a(LIES[0]), a(X), out=LIES[1]),
    "out overlaps x": lambda a: ep.ops.exp(a(LIES[0]), out=LIES[1]),
    "out of a move overlaps": lambda a: ep.ops.permute(a(LIES[0]), (0, 1), out=LIES[0]),
    "number": lambda a: ep.ops.add(a(I), 2.5),
    "large number": lambda a: ep.ops.add(a(H), 1e9),
    "complex number": lambda a: ep.ops.add(a(X), 1j),
    "number of where": lambda a: ep.ops.where(a(X > 0), a(I), 0.5),
    "index": lambda a: ep.ops.gather(a(X), a(AT + 1)),
    "negative index": lambda a: ep.ops.gather(a(X), a(AT - 5), mode="wrap_negative"),
}
RIGHT = {
    "dtype of out": lambda: ep.ops.add(X, X, out=OUT),
    "number": lambda: ep.ops.add(I, 2.0),
    "large number": lambda: ep.ops.add(H, 1.0),
    "number of where": lambda: ep.ops.where(X > 0, I, 1.0),
    "index": lambda: ep.ops.gather(X, AT),
    "negative index": lambda: ep.ops.gather(X, AT, mode="wrap_negative"),
    "out overlaps x": lambda: ep.ops.exp(X),
    "out of a move overlaps": lambda: ep.ops.permute(X, (0, 1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_known_call_refuses_in_the_same_words(name):
    for _ in range(3):
        RIGHT.get(name, RIGHT["dtype of out"])()
    MEMORY[:], OUT[:] = 7, 7
    refused = error_of(lambda: WRONG[name](lambda x: x))
    assert refused == error_of(lambda: WRONG[name](lambda x: x.view(Unknown)))
    assert issubclass(refused[0], TypeError | ValueError | IndexError)
    assert (MEMORY == 7).all()
    assert (OUT == 7).all()


def test_out():
    for _ in range(4):
        out = np.zeros((4, 6), np.float32)
        assert ep.ops.add(X, X, out=out) is out
        same(out, X + X)
        x = X.copy()
        assert ep.ops.mul(x, 2.0, out=x) is x
        same(x, X * 2)
        wide = np.zeros((4, 12), np.float32)
        view = wide[:, ::2]
        assert ep.ops.add(X, X, out=view) is view
        assert np.array_equal(view, X + X)
        assert not wide[:, 1::2].any()


def test_out_that_shares_memory_with_operands():
    memory = np.arange(48, dtype=np.float32)
    for _ in range(4):
        x, y = memory[:24].reshape(4, 6), np.ones((4, 6), np.float32)
        expected = x + y
        same(ep.ops.add(x, y, out=x), expected)  # in place
        same(x, expected)
        rows = memory[:24].reshape(4, 6)
        expected = rows.copy()
        expected[[3, 0, 1]] = rows[:3]
        same(ep.ops.scatter_rows(rows, AT, rows[:3], out=rows), expected)
        beside = memory[24:].reshape(4, 6)
        same(ep.ops.add(x, y, out=beside), x + y)


def test_lists_of_operands():
    one, other, longer = X.copy(), X + 1, np.ones((5, 6), np.float32)
    given = [one, other]
    for _ in range(4):
        same(ep.ops.concat(given), np.concatenate(given))
        same(ep.ops.concat(tuple(given)), np.concatenate(given))
        given.reverse()
        same(ep.ops.concat(given), np.concatenate(given))
        given.append(longer)
        same(ep.ops.concat(given), np.concatenate(given))
        given.pop()
        same(ep.ops.concat([one]), one)
        same(ep.ops.concat(one.reshape(1, 4, 6)), one)
        same(ep.ops.stack(given, axis=1), np.stack(given, axis=1))
        for wrong in ([], [one, X[0]], [one, other.astype(np.float64)], one[0, 0], None):
            assert issubclass(error_of(lambda wrong=wrong: ep.ops.concat(wrong))[0], TypeError | ValueError)
        same(ep.ops.split(one, 1), [one])
        same(ep.ops.split(one, [2, 4], axis=1), [np.ascontiguousarray(part) for part in np.split(one, 3, axis=1)])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 1, 3)], ids=str)
def test_shapes_of_few_elements(shape):
    x = np.full(shape, 3.0)
    for _ in range(3):
        same(ep.ops.add(x, x), np.asarray(x + x))
        same(ep.ops.add(x, 1), np.asarray(x + 1))
        same(ep.ops.exp(x, out=np.empty(shape)), np.asarray(np.exp(x)))
        same(ep.ops.sum(x), np.asarray(x.sum()))
        same(ep.ops.concat([x, x], axis=None), np.concatenate([x, x], axis=None))


def test_views_and_other_arrays_of_a_known_shape_and_dtype():
    square = np.arange(36, dtype=np.float32).reshape(6, 6)
    for x in (square, square.T, square[::-1], square.astype(">f4"), np.asfortranarray(square), square.tolist()):
        for _ in range(2):
            given = np.asarray(x, np.float32)
            same(
                ep.ops.negative(np.asarray(x) if isinstance(x, list) else x).astype("f4"), -np.ascontiguousarray(given)
            )
            same(ep.ops.concat([square, given]), np.concatenate([square, given]))
    same(ep.ops.add(square, square.T), square + square.T)
    at_odd_places = np.arange(145, dtype=np.uint8)[1:].view(np.float32).reshape(6, 6)
    same(ep.ops.add(square, at_odd_places), square + at_odd_places)


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
def test_arrays_whose_shape_or_dtype_was_set():
    x = np.arange(12, dtype=np.int32)
    for _ in range(2):
        x.shape, x.dtype = (12,), np.int32
        same(ep.ops.add(x, 1), x + 1)
        x.shape = 3, 4
        same(ep.ops.sum(x, 0), x.sum(0))
        x.dtype = np.float32
        same(ep.ops.exp(x), ep.ops.exp(x.view(Unknown)))


def test_memory_for_known_calls_is_bounded():
    """Calls that are in use stay known among many others; a long sequence is no part of what is known."""

    def calls(sizes):
        for size in sizes:
            ep.ops.negative(np.zeros(size, np.float32))
            ep.ops.slice(X, slice(0, size))
            ep.ops.negative(X)
        ep.ops.split(np.zeros(5000), [1] * 5000)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = calls(range(1, 1500)), calls(range(1500, 7500))
    finally:
        tracemalloc.stop()
    assert after - before < 3_000_000  # two generations of 256 calls; one takes more than a kilobyte
    assert functions_called(lambda: ep.ops.negative(X)) <= 1


def test_more_kinds_of_calls_than_compiled_code_compares():
    kinds = [np.full((1 + n % 7,) * (n % 4), n, dtype) for n in range(40) for dtype in ("f4", "f8", "i4")]
    for _ in range(3):
        for x in kinds:
            same(ep.ops.add(x, x), np.asarray(x + x))
            same(ep.ops.sum(x), np.asarray(x.sum(dtype="i8" if x.dtype.kind == "i" else x.dtype)))


def test_attributes_that_change_are_read_again():
    axes, keepdims = [0], [False]
    for axes[0] in (0, 1, 0):
        same(ep.ops.sum(X, axis=tuple(axes), keepdims=keepdims[0]), ep.ops.sum(X.view(Unknown), axis=axes[0]))
        assert ep.ops.permute(X, [axes[0], 1 - axes[0]]).shape == (X if axes[0] == 0 else X.T).shape
    order = [0, 1]
    assert ep.ops.permute(X, order).shape == (4, 6)
    order.reverse()
    assert ep.ops.permute(X, order).shape == (6, 4)


def test_a_call_leaves_no_references():
    """A call keeps neither its arguments nor its results alive, also if it raises an error."""
    x, axis, out_type, odd = X.copy(), (0,), np.dtype(np.float32), np.zeros((3, 6), np.float32)
    at, out, listed = AT.copy(), np.empty_like(x), [x, x]
    calls = (
        lambda: ep.ops.add(x, x),
        lambda: ep.ops.sum(x, axis=axis),
        lambda: ep.ops.cast(x, "float64"),
        lambda: ep.ops.concat(listed),
        lambda: ep.ops.split(x, 2)[1],
        lambda: ep.ops.scatter_rows(x, at, odd),
        lambda: ep.ops.gather(x, at, mode="wrap_negative"),
        lambda: ep.ops.add(x, x, out=out).copy(),
    )
    for call in calls:
        for _ in range(3):
            call()
        assert functions_called(call) <= 2
        counted = x, axis, out_type, odd, at, out, listed, AT, np.ndarray, np.empty, True, False
        with garbage_waits():  # that of earlier tests has references to the type
            before = [sys.getrefcount(one) for one in counted]
            for _ in range(1000):
                made = call()
                with pytest.raises(ValueError, match="broadcast"):
                    ep.ops.add(x, odd)
            assert sys.getrefcount(made) == 2
            after = [sys.getrefcount(one) for one in counted]
        assert all(abs(one - other) < 500 for one, other in zip(before, after, strict=True)), (before, after)
    last = weakref.ref(made)
    del made
    assert last() is None


def test_threads_with_indices():
    """A list of launches is used by several threads at once, each with its own indices."""
    x, wrong = np.zeros((600, 500), np.float32), []

    def work(number):
        at, rows = np.full(3, number), np.full((3, 500), number, np.float32)
        at[1:] = number + 100, number - 200
        expected = np.zeros((600, 500), np.float32)
        expected[at] = number
        for _ in range(100):
            result = ep.ops.scatter_rows(x, at, rows, mode="wrap_negative")
            if not np.array_equal(result, expected):
                wrong.append(number)

    run_together(work, [(number,) for number in range(1, 7)])
    assert not wrong


OF_OTHERS = """
import numpy as np
import ep.ops
from ep import DataType
from ep.include.arrays import RESULT
from ep.ops.kernels import Function, Launch, Plan, PreparedKernel, data_type, register_kernel
from ep.run.steps import Placeholder

@register_kernel("pad", matches=data_type("x") == DataType.kFloat, priority=1)
class First(PreparedKernel):
    def prepare(self, shapes, attributes):
        def compute(stream, x, out):
            out[...] = x[0]  # no launch

        return Plan(Launch(Function(compute), Placeholder(0), RESULT))

fused = ep.fuse(lambda x: ep.ops.softmax(ep.ops.pad(x, 1)) * ep.ops.pad(x, 1) * 5)
for number in range(2, 8):
    x = np.full(3, number, np.float32)
    assert (ep.ops.pad(x, 1) == number).all()
    assert np.allclose(fused(x), number)
"""


def test_a_plan_that_computes_without_launches():
    run(OF_OTHERS)


REGISTERED = """
import numpy as np
import ep.ops
from ep import DataType
from ep.ops.kernels import Kernel, PreparedKernel, data_type, register_kernel

x = np.ones(5, np.float32)
for _ in range(3):
    assert ep.ops.relu(x)[0] == 1 and ep.ops.mul(x, 2.0)[0] == 2

is_float = data_type("x") == DataType.kFloat
made = []

@register_kernel("relu", matches=is_float, priority=1)
class Seven(PreparedKernel):
    def prepare(self, shapes, attributes):
        if not made:  # in the middle of a call: what that keeps is not for later ones
            made.append(self)

            @register_kernel("relu", matches=is_float, priority=2)
            class Eight(Kernel):
                def compute(self, call):
                    call.outputs[0][...] = 8

        def launches(arrays, inputs, outputs):
            outputs[0][...] = 7

        return launches

assert ep.ops.relu(x)[0] == 7
for _ in range(3):
    assert ep.ops.relu(x)[0] == 8

@register_kernel("relu", matches=is_float, priority=3)
class Nine(Seven):
    def compute(self, call):  # it overrides how calls are prepared, too
        call.outputs[0][...] = 9

for _ in range(3):
    assert ep.ops.relu(x)[0] == 9

class Odd(ValueError):
    def __init__(self, one, two):
        super().__init__(one, two)

@register_kernel("relu", matches=is_float, priority=4)
class Raises(Kernel):
    calls = 0

    def compute(self, call):
        Raises.calls += 1
        if Raises.calls > 1:
            raise Odd(1, 2)

ep.ops.relu(x)
try:
    ep.ops.relu(x)
    raise AssertionError
except Odd as error:
    assert error.__cause__ is None and Raises.calls == 2
"""


def test_kernels_that_are_registered_after_calls():
    run(REGISTERED)
