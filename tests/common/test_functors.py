"""The functors that the CPU replaces with vectorised functions, or computes in float64; other devices use them as is.

They are compiled with libm's functions here. All others are what launches on the CPU compute, which
`tests/primitive/test_unary_values.py` and `test_binary_values.py` compare with the references.
"""

from functools import cache

import numba
import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.common.functor.lookup import functor_maker
from ep.cpu.kernels.math_library import _MAKERS, cpu_math_library
from ep.include.data_type import as_data_type
from ep.include.number_kind import Kind
from ep.include.primitive.op_definition import Gives
from ep.include.primitive.op_table import attributes_of
from ep.testing import tolerances
from ep.testing.agreement import check_binary, check_unary
from ep.testing.samples import dense
from tests.cpu.outer import OUTER
from tests.extremes import dys, worst_of, xs
from tests.primitive.values import attribute_sets, gradients_and_arguments

GATES = ("Gelu", "FastGelu", "QuickGelu", "Silu", "Mish")
UNARY = [UnaryOp[f"k{name}"] for name in (*GATES, "SoftPlus", "LogSigmoid", "Sigmoid", "Lgamma", "Digamma", "Trigamma")]
GRADIENTS = [BinaryOp[f"k{name}BackwardWithDyX"] for name in (*GATES, "Softplus", "Lgamma", "Digamma")]
HOST = tolerances.Library.HOST

of_types = pytest.mark.parametrize("scalar_type", [np.float32, np.float64])


def by_op(ops):
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


def functor(op, scalar_type):
    return cpu_math_library(scalar_type).use(functor_maker(op, Kind.FLOAT))


@cache
def compiled(op, scalar_type):
    """Return a function of the result, the operands and the attributes, which are arrays of this type."""
    function = functor(op, scalar_type)
    operands = ["x[i]"] if isinstance(op, UnaryOp) else ["x[i]", "y[i]"]
    given = [*operands, *(f"attributes[{k}]" for k in range(len(attributes_of(op))))]
    names = {"function": function}
    exec(f"def loop(out, x, y, attributes):\n for i in range(x.size):\n  out[i] = function({', '.join(given)})", names)
    arrays = [numba.from_dtype(np.dtype(scalar_type))[::1]] * 4
    return numba.njit(numba.void(*arrays), **OUTER)(names["loop"])


def apply(op, attributes, *operands):
    dtype = operands[0].dtype
    x, y = (np.ascontiguousarray(operands[place]) for place in (0, -1))
    out = np.empty_like(x)
    compiled(op, dtype.type)(out, x, y, np.array(attributes, dtype))
    return out


@of_types
@by_op(UNARY)
def test_close_to_the_reference(op, scalar_type):
    slow = op in tolerances.SLOW_REFERENCE and scalar_type is np.float64
    x = dense(scalar_type, 150 if slow else 1500)
    for attributes in attribute_sets(op):
        check_unary(HOST, op, as_data_type(scalar_type), apply(op, attributes, x), x, attributes)


@of_types
@by_op(GRADIENTS)
def test_gradients(op, scalar_type):
    bound = tolerances.binary_ulps(op, scalar_type, HOST)
    dy, x = gradients_and_arguments(scalar_type, 50 if op in tolerances.SLOW_BINARY_REFERENCE else 200)
    for attributes in attribute_sets(op):
        check_binary(HOST, op, as_data_type(scalar_type), apply(op, attributes, dy, x), dy, x, attributes)
        error, what = worst_of(
            op,
            lambda dy, x, attributes=attributes: apply(op, attributes, dy, x),
            *(dys(scalar_type), xs(scalar_type, op), attributes),
        )
        assert error <= bound, f"{what}, {bound} allowed"


def test_zeta_of_float32():
    random = np.random.default_rng(7)
    for x, q in ((random.uniform(1, 40, 180), random.uniform(0, 60, 180)), (random.integers(2, 12, 60), [-7.3] * 60)):
        x, q = np.array(x, np.float32), np.array(q, np.float32)
        check_binary(HOST, BinaryOp.kZeta, as_data_type(np.float32), apply(BinaryOp.kZeta, (), x, q), x, q, ())


def has_functor(op):
    try:
        return bool(functor_maker(op, Kind.FLOAT))
    except LookupError:
        return False


def test_no_replaced_functor_is_left_out():
    replaced = {
        op for op in (*UnaryOp, *BinaryOp) if has_functor(op) and functor_maker(op, Kind.FLOAT) in _MAKERS.values()
    }
    assert replaced <= {*UNARY, *GRADIENTS}


@by_op([op for op in BinaryOp if has_functor(op) and op.definition.gives is not Gives.BOOLEAN])
def test_float32_stays_float32(op):
    f = functor(op, np.float32)
    arguments = (numba.float32,) * (2 + len(attributes_of(op)))
    f.compiled.compile(arguments)
    found = f.compiled.overloads[arguments]
    assert str(found.signature.return_type) == "float32"
    # a constant of the wrong type would widen its operands; only the wrappers for Python's floats may do so
    for function in found.library.get_llvm_str().split("define ")[1:]:
        assert "@Py" in function or " fpext float" not in function
