"""Wrong arguments of every public function: each error names an argument, in the function's words."""

import inspect
import re
from fractions import Fraction

import numpy as np
import pytest

import ep
import ep.ops
from ep.include.errors import UnsupportedPrimitiveError
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import operator_named
from ep.ops.names import is_backward
from tests.fuse.placing import placed
from tests.ops.test_own_words import CALLS as COMPOSED
from tests.ops.test_shared_elements import WRITES, arguments

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ROWS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ODD = (None, "a", object(), [[1, 2], [3]], {}, {1}, 1j, 10**400, Fraction(1, 2), np.datetime64("2020"), int)
WRONG_ARRAYS = (*ODD, X.astype("complex64"), X[:1, :2].copy(), X[0], np.zeros((1,) * 9, np.float32), np.array(["a"]))
WRONG_VALUES = (
    *ODD,
    1.5,
    -7,
    True,
    (0, 0),
    (0, 5),
    2**63,
    -(2**63) - 1,
    np.array(0.5),
    X,
    (1, "a"),
    (None,),
    [[1]],
    b"x",
)
IMAGE = np.arange(50, dtype=np.float32).reshape(1, 2, 5, 5)
OTHERS = {
    "adaptive_average_pool": ([IMAGE, (2, 3)], {}),
    "adaptive_average_pool_grad": ([IMAGE, (1, 2, 7, 7)], {}),
    "max_pool_with_indices": ([IMAGE, 2], {}),
    "max_unpool": ([IMAGE, np.arange(50).reshape(IMAGE.shape), (7, 8)], {}),
    "resize": ([IMAGE, (4, 7), "linear"], {}),
    "resize_grad": ([IMAGE, (1, 2, 3, 7)], {}),
    "concat": ([[X, X]], {}),
    "sort": ([X], {}),
    "topk": ([X, 2], {}),
    "stack": ([[X, X]], {}),
    "split": ([X, 2], {}),
    "full": ([(2, 3), 1.5], {}),
    "copy_to_device": ([X, "cpu"], {}),
    "copy_to_host": ([X], {}),
    "matmul_grad": ([X @ X.T, X, X.T.copy()], {}),
    "vjp": (["add", (X, X), {}, None, X], {}),
}
NAMES = [name for name in ep.ops.__all__ if not is_backward(name)]
REST = "device", "operator", "y"
"""What an error also may name: what an argument stands for, and the operands of the operator that vjp is given."""
INNER = re.compile(
    r"'\w+' object|object is not|object of type|len\(\)|NoneType'|unsupported operand|setting an array|truth value|"
    r"C s?size_t|C long|iteration over|should not be negative|unhashable|float\(\) arg|not iterable|\bk[A-Z]\w+|Factory"
)
"""Words of Python, NumPy and primitives, which say nothing of the argument."""


def call_of(name):
    """Return the arguments of a call that is right."""
    if name in COMPOSED:
        return [], dict(zip(inspect.signature(getattr(ep.ops, name)).parameters, COMPOSED[name][0], strict=False))
    if name in OTHERS:
        return OTHERS[name]
    if name in WRITES:
        return arguments(name)
    return [X] * (1 + len(operator_named(name.removesuffix("_grad")).inputs)), {}


@pytest.mark.parametrize("name", NAMES)
def test_an_argument_is_named(name, device):
    function = getattr(ep.ops, name)
    signature = inspect.signature(function)
    given, options = call_of(name)
    right = signature.bind(*given, **options)
    refused = 0
    for parameter in signature.parameters.values():
        is_array = "ArrayLike" in str(parameter.annotation) or parameter.name == "out"
        for wrong in WRONG_ARRAYS if is_array else WRONG_VALUES:
            bound = signature.bind(*right.args, **right.kwargs)
            bound.arguments[parameter.name] = (wrong,) if parameter.kind is parameter.VAR_POSITIONAL else wrong
            args = [
                placed(device, one) if isinstance(one, np.ndarray) and one is not wrong else one for one in bound.args
            ]
            try:
                function(*args, **bound.kwargs)
            except (TypeError, ValueError, LookupError, UnsupportedPrimitiveError) as error:
                refused, text = refused + 1, str(error)
                named = any(re.search(rf"\b{word}\b", text) for word in (*signature.parameters, name, *REST))
                assert named, (parameter.name, wrong, text)
                assert not INNER.search(text), (parameter.name, wrong, text)
                assert len(text) < 700
    assert refused > 7


def test_rows_of_different_lengths(device):
    x = placed(device, X)
    for call in (lambda: ep.ops.sum([[1, 2], [3]]), lambda: ep.ops.add([[1, 2], [3]], 1)):
        with pytest.raises(ValueError, match=r"^x is \[\[1, 2\], \[3\]\]; all its parts must have one shape"):
            call()
    with pytest.raises((TypeError, ValueError), match=r"^y .*"):
        ep.ops.add(x, [[1, 2], [3]])


@pytest.mark.parametrize("name", ["sum", "max", "var", "flip", "squeeze", "expand_dims", "softmax"])
def test_values_in_no_order_are_no_axes(name, device):
    for axis in ({0}, {0: 1}, {}, set(), frozenset([1])):
        with pytest.raises(TypeError, match="axis must be an integer, not "):
            getattr(ep.ops, name)(placed(device, X), axis)


def test_what_is_no_array_beside_one(device):
    """That it is not on the device of the other operand is not what is wrong with it."""
    x = placed(device, X)
    for wrong in (None, "a", object(), np.datetime64("2020"), {}):
        for call in (lambda x, y: ep.ops.add(x, y), lambda x, y: ep.ops.add(y, x)):
            for function in (call, lambda x, y, call=call: ep.fuse(lambda x: call(x, y))(x)):
                with pytest.raises(
                    TypeError, match=r"^[xy] has dtype (object|<U1|datetime64\[Y\]); it must be one of "
                ):
                    function(x, wrong)


def test_what_a_device_lacks_is_said_once(monkeypatch):
    """Also where one function that is made of others calls another one."""

    def lacks(*args, **kwargs):
        raise UnsupportedPrimitiveError("mean has no kernel")

    monkeypatch.setitem(FUNCTIONS, "mean", lacks)
    with pytest.raises(UnsupportedPrimitiveError, match=r"^std is made of other operators: mean has no kernel$"):
        ep.ops.std(X)


def test_sizes(device):
    x = placed(device, X)
    calls = {
        "shape[0]": lambda size: ep.ops.zeros((size, 2)),
        "shape[1]": lambda size: ep.ops.broadcast_to(x, (1, size, 3)),
        "sizes[1]": lambda size: ep.ops.repeat(x, 1, size),
        "repetitions[0]": lambda size: ep.ops.tile(x, size),
        "shape[2]": lambda size: ep.ops.expand_grad(x, (1, 2, size)),
        "shape[ 0]": lambda size: ep.ops.slice_grad(x, (size, 3), slice(0, 2)),
        "shape[ 1]": lambda size: ep.ops.repeat_grad(x, (1, size), (2, 1)),
    }
    for argument, call in calls.items():
        name = re.escape(argument.replace(" ", ""))
        with pytest.raises(ValueError, match=rf"^{name} is -3; it must not be negative"):
            call(-3)
        with pytest.raises(ValueError, match=rf"^{name} is {2**63}; it must be below 2\*\*63"):
            call(2**63)
    with pytest.raises(ValueError, match=rf"^sizes\[0\] is {2**70}; it must be below 2\*\*63"):
        ep.ops.expand(x, 2**70, 2, 3)
    with pytest.raises(ValueError, match=rf"^strides\[1\] is {2**70}; it must be within 2\*\*63 of 0"):
        ep.ops.max_pool(placed(device, np.ones((1, 1, 5, 5), np.float32)), 2, strides=(1, 2**70))
    assert ep.ops.expand(x, 2, -1, 3).shape == (2, 2, 3)


def test_what_has_no_dtype():
    with pytest.raises(ValueError, match=r"^fill_value is 10{30}, which no dtype holds"):
        ep.ops.full(2, 10**30)
    with pytest.raises(ValueError, match=r"^y is an integer of 16610 bits, which float32 does not hold"):
        ep.ops.add(X, 10**5000)
    with pytest.raises(ValueError, match=r"^dtype is 'number', which is not a data type; give one of float32, "):
        ep.ops.cast(X, "number")
    with pytest.raises(TypeError, match=r"^alpha must be a real number, not <class 'int'>"):
        ep.ops.celu(X, int)


def test_vjp():
    for name in (None, 3, ["add"], b"add"):
        with pytest.raises(TypeError, match=r"^name must be the name of an operator, not "):
            ep.ops.vjp(name, (X, X), {}, None, X)
    for inputs in (None, 3, "xy", np.array(1.0)):
        with pytest.raises(TypeError, match=r"^inputs must be a sequence of arrays, not "):
            ep.ops.vjp("add", inputs, {}, None, X)


def test_a_second_operand_of_max():
    for axis in (1.5, [0.5, 1], np.float32([1, 2]), 1j):
        with pytest.raises(TypeError, match=r"max takes one array, and maximum\(x, y\) is for two"):
            ep.ops.max(X, axis)
    for axis in ("a", int, (0, "a")):
        with pytest.raises(TypeError, match=r"^axis(\[1\])? must be an integer, not "):
            ep.ops.max(X, axis)


def test_types_are_listed_in_one_order():
    """That of other lists: bool, integers, floating and complex types, by size."""
    inexact = "float16, bfloat16, float32, float64, complex64, complex128"
    with pytest.raises(UnsupportedPrimitiveError, match=f"takes {inexact} on cpu"):
        ep.ops.sqrt(X > 1)
    integers = "int8, uint8, int16, uint16, int32, uint32, int64, uint64"
    with pytest.raises(UnsupportedPrimitiveError, match=f"takes bool, {integers} on cpu"):
        ep.ops.bitwise_and(X, X)
