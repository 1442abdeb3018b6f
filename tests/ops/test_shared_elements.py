"""Arrays to write whose own elements share memory: refused by everything that writes, before anything is written."""

import inspect
import itertools
from contextlib import suppress

import numpy as np
import pytest

import ep
import ep.ops
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.ops.declare.operator import operator_named
from tests.ops.test_cuda_arrays import Interface

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4) / 16
IMAGE = np.arange(50, dtype=np.float32).reshape(1, 2, 5, 5)
FILTERS = np.arange(54, dtype=np.float32).reshape(3, 2, 3, 3)
ROWS = np.array([2, 0, 1])

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

CALLS = {
    "argmax": ([CUBE, 0], {}),
    "argmin": ([CUBE, 0], {}),
    "argtopk": ([X, 2], {}),
    "average_pool": ([IMAGE, 2], {}),
    "average_pool_grad": ([np.ones((1, 2, 4, 4), np.float32), (1, 2, 5, 5), 2], {}),
    "batch_gather": ([X, np.array([[1, 0], [2, 2], [3, 0]])], {}),
    "batch_gather_grad": ([np.ones((3, 2), np.float32), np.array([[1, 0], [2, 2], [3, 0]]), (3, 4)], {}),
    "cast": ([X, "float64"], {}),
    "astype": ([X, "float64"], {}),
    "conv": ([IMAGE, FILTERS], {}),
    "conv_w_grad": ([np.ones((1, 3, 3, 3), np.float32), IMAGE, (3, 2, 3, 3)], {}),
    "conv_x_grad": ([np.ones((1, 3, 3, 3), np.float32), FILTERS, (1, 2, 5, 5)], {}),
    "expand": ([X, 2, 3, 4], {}),
    "expand_grad": ([np.ones((2, 3, 4), np.float32), (3, 4)], {}),
    "fold": ([np.ones((1, 2, 2, 2, 4, 4), np.float32), (5, 5)], {}),
    "gather": ([X, ROWS], {}),
    "gather_grad": ([X, ROWS, (3, 4)], {}),
    "log_softmax": ([X], {}),
    "log_softmax_grad": ([], {"dy": X, "y": X}),
    "clip": ([X, 1, 2], {}),
    "isclose": ([X, X], {}),
    "conv_integer": ([IMAGE.astype(np.uint8), FILTERS.astype(np.int8), 3], {}),
    "tree_ensemble": ([X, np.zeros(6, np.int32), np.zeros(1, np.int32), 2], {}),
    "matmul_integer": ([X.astype(np.int8), X.T.astype(np.int8), None, 1], {}),
    "matmul": ([X, X.T.copy()], {}),
    "max_pool": ([IMAGE, 2], {}),
    "max_pool_labels": ([IMAGE, np.arange(25).reshape(5, 5), 2], {}),
    "one_hot": ([ROWS, 5], {}),
    "pad": ([X, ((1, 1), (0, 2))], {}),
    "permute": ([X, (1, 0)], {}),
    "permute_dims": ([X, (1, 0)], {}),
    "transpose": ([X], {}),
    "repeat": ([X, 2, 1], {}),
    "repeat_grad": ([np.ones((6, 4), np.float32), (3, 4), (2, 1)], {}),
    "resample": ([X, np.array([[1, 0, 2], [2, 2, 1]]), np.ones((2, 3), np.float32)], {}),
    "ravel_multi_index": ([[ROWS[:, None], ROWS[:2]], (3, 4)], {}),
    "scatter_rows": ([X, ROWS, 2 * X], {}),
    "segment_sum": ([X, ROWS, 3], {}),
    "slice": ([X, slice(1, 3)], {}),
    "slice_grad": ([np.ones((2, 4), np.float32), (3, 4), slice(1, 3)], {}),
    "softmax": ([X], {}),
    "softmax_grad": ([], {"dy": X, "y": X}),
    "tile": ([X, (2, 1)], {}),
    "cumulative_prod": ([X, 0], {}),
    "cumulative_sum": ([X, 0], {}),
    "divide": ([X, X + 1], {}),
    "true_divide": ([X, X + 1], {}),
    "unfold": ([IMAGE, 2], {}),
    "where": ([X > 0.5, X, 2 * X], {}),
}
"""The arguments of functions whose results have two axes or more; elementwise ones and reductions are not listed."""

ATTRIBUTES = {
    "scalar_base_power_grad": {"exponent": 2},
    "scalar_exp_power_grad": {"base": 2},
    "threshold": {"threshold": 0.5, "value": 0},
    "threshold_backward_with_dy_x": {"threshold": 0.5},
}

FUNCTIONS = {name: getattr(ep.ops, name) for name in ep.ops.__all__}
WRITES = [
    name for name, one in FUNCTIONS.items() if inspect.isfunction(one) and "out" in inspect.signature(one).parameters
]


def arguments(name):
    """Return operands and attributes with which a function has a result of two axes or more."""
    if name in CALLS:
        return CALLS[name]
    if operator_named(name).family == "reduce":
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        return [x > 3 if name in ("all", "any") else x], {"axis": 0}
    inputs = len(operator_named(name).inputs)
    attributes = ATTRIBUTES.get(name, {})
    for types in itertools.product(("float32", "int32", "bool", "complex64"), repeat=inputs):
        operands = [(8 * X).astype(dtype) for dtype in types]
        with suppress(TypeError, UnsupportedPrimitiveError):
            getattr(ep.ops, name)(*operands, **attributes)
            return operands, attributes
    raise AssertionError(f"no operands for {name}")


def strided(device, shape, strides, dtype, begin=0):
    """Return memory on the device, and an array in it; strides: in elements, counted from element `begin`."""
    memory = np.full(4096, 7).astype(dtype)
    if device.type is DeviceType.kCPU:
        return memory, np.lib.stride_tricks.as_strided(
            memory[begin:], shape, [step * memory.itemsize for step in strides]
        )
    memory = ep.ops.copy_to_device(memory, device.type)
    return memory, Interface(memory, shape, strides, begin)


def sharing(shape):
    """Return strides of arrays of this shape whose elements share memory."""
    steps = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    axis = max(range(len(shape)), key=lambda axis: shape[axis])
    yield [0] * len(shape)
    yield [0 if k == axis else step for k, step in enumerate(steps)]
    yield [1] * len(shape)  # rows that begin one element after the row before
    yield [max(step - 1, 1) if k < len(shape) - 1 else step for k, step in enumerate(steps)]


@pytest.mark.parametrize("name", WRITES)
def test_every_function_with_out(device, operate, name):
    operands, options = arguments(name)
    expected = operate(name, *operands, **options)
    assert expected.ndim > 1
    assert expected.size > 1
    for steps in sharing(expected.shape):
        memory, out = strided(device, expected.shape, steps, expected.dtype)
        before = ep.ops.copy_to_host(memory).tobytes()
        for _ in range(2):  # a function may know its second call
            with pytest.raises(
                ValueError, match=r"^out of shape \(.*\) and strides \(.*\) has elements that share memory"
            ):
                operate(name, *operands, **options, out=out)
        assert ep.ops.copy_to_host(memory).tobytes() == before


@pytest.mark.parametrize(
    ("shape", "steps"),
    [
        ((3, 2), (2, 3)),  # 0 3 2 5 4 7
        ((2, 3, 5), (15, 6, 10)),
        ((4, 3), (1, 4)),
        ((4, 1), (1, 0)),
        ((1, 1), (0, 0)),
        ((0, 4), (0, 0)),
        ((3, 0), (0, 1)),
        ((3, 4), (5, 1)),
    ],
)
def test_elements_that_do_not_share_memory(device, operate, shape, steps):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 2
    memory, out = strided(device, shape, steps, np.float32)
    operate("relu", x, out=out)
    expected = np.full(4096, 7, np.float32)
    for index in np.ndindex(shape):
        expected[np.dot(index, steps)] = max(x[index], 0)
    np.testing.assert_array_equal(ep.ops.copy_to_host(memory), expected)


def test_negative_strides(rng):
    x = rng.normal(size=(3, 4)).astype(np.float32)
    out = np.zeros((3, 4), np.float32)
    ep.ops.relu(x, out=out[::-1, ::-1])
    np.testing.assert_array_equal(out[::-1, ::-1], np.maximum(x, 0))
    twice = np.lib.stride_tricks.as_strided(out[-1:, -1:], (3, 4), (-4, -4))
    with pytest.raises(ValueError, match="share memory"):
        ep.ops.relu(x, out=twice)


def test_strides_that_are_no_whole_elements():
    memory = np.zeros(64, np.uint8)
    overlapping = np.ndarray((3,), np.float32, memory, strides=(3,))
    with pytest.raises(ValueError, match=r"out of shape \(3,\) and strides \(3,\) has elements that share memory"):
        ep.ops.relu(np.ones(3, np.float32), out=overlapping)
    records = np.zeros(3, np.dtype([("a", "i1"), ("b", "f4")]))
    ep.ops.relu(np.ones(3, np.float32), out=records["b"])
    assert records["b"].tolist() == [1, 1, 1]


def _assign(x, *targets):
    with ep.lazy() as lazy:
        source, *views = map(lazy.view, (x, *targets))
        value = source * 2
        for view in views:
            view[...] = value


@pytest.mark.parametrize("steps", [(0, 1), (0, 0), (1, 1), (3, 1)])
def test_fused_functions_and_blocks(device, on_device, steps):
    fused = ep.fuse(lambda x: (x * 2 + 1, ep.ops.sum(x, -1, keepdims=True) * x))
    x = on_device(X)
    plain = on_device(np.zeros((3, 4), np.float32))
    for _ in range(3):
        memory, out = strided(device, (3, 4), steps, np.float32)
        before = ep.ops.copy_to_host(memory).tobytes()
        with pytest.raises(ValueError, match=r"^out\[1\] of shape \(3, 4\) and strides .* share memory"):
            fused(x, out=(plain, out))
        with pytest.raises(ValueError, match=r"^view 1 of shape \(3, 4\) and strides .* share memory"):
            _assign(x, out)
        with pytest.raises(ValueError, match=r"^view 2 of shape \(3, 4\) and strides .* share memory"):
            _assign(x, plain, out)  # one value, which is computed once
        assert ep.ops.copy_to_host(memory).tobytes() == before
        assert not ep.ops.copy_to_host(plain).any()
    with ep.lazy() as lazy:  # it may be read
        source, first = lazy.view(out), lazy.view(plain)
        first[...] = source * 2
    np.testing.assert_array_equal(ep.ops.copy_to_host(plain), 14)


@pytest.mark.parametrize("steps", [(0, 1), (1, 1), (3, 1), (5, 7)])
def test_launches_of_expressions(device, steps):
    from ep.include.primitive import ExpressionFactory, NewPrimitive, UnaryOp
    from ep.include.primitive.structure import Step, Structure

    structure = Structure((DataType.kFloat,), (), (Step(UnaryOp.kNegative, (0,), DataType.kFloat),), (1,))
    primitive = NewPrimitive(ExpressionFactory, device.type, structure)
    x = ep.ops.copy_to_device(X, device.type)
    memory, out = strided(device, X.shape, steps, np.float32)
    if steps == (5, 7):
        primitive.Launch(device.stream, [out], [x])
        found = ep.ops.copy_to_host(memory)
        assert all(found[np.dot(index, steps)] == -X[index] for index in np.ndindex(X.shape))
        return
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^results\[0\] of shape \(3, 4\) and strides .* share memory"):
            primitive.Launch(device.stream, [out], [x])
    assert (ep.ops.copy_to_host(memory) == 7).all()
