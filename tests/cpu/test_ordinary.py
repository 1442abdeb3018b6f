"""The functions for ordinary elements: checks find the special ones, and maps of several ops check what they compute.

That elements have the same bits beside any others is tested by `test_places.py`.
"""

import numba
import numpy as np
import pytest

import ep
from ep import BinaryOp, UnaryOp
from ep.cpu.compile.memory import loader
from ep.cpu.kernels.math_library import Precision
from ep.cpu.kernels.ordinary import OPS_OF_ONE_FUNCTION, ordinary_form
from ep.include import DataType
from ep.include.primitive.op_table import function_name
from ep.ops.declare.function import FUNCTIONS
from tests.cpu.outer import OUTER

FORMS = {(op, of): form for op in OPS_OF_ONE_FUNCTION for of in Precision if (form := ordinary_form(op, of))}
UNARY = sorted({op for op, _ in FORMS if isinstance(op, UnaryOp)}, key=lambda op: op.name)
TYPES = (DataType.kFloat, DataType.kDouble, DataType.kFloat16, DataType.kBFloat16)
REALS = {Precision.SINGLE: DataType.kFloat, Precision.FULL: DataType.kDouble}
GAMMA = (UnaryOp.kLgamma, UnaryOp.kDigamma, UnaryOp.kTrigamma)
NORMAL = (UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kRsqrt, *GAMMA, BinaryOp.kPow)
SPECIAL = (0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 5e-324, 600.0, -600.0, 3e38)


@pytest.mark.parametrize(("op", "precision"), FORMS, ids=lambda one: one.name)
def test_only_blocks_with_special_elements_are_found(op: UnaryOp | BinaryOp, precision: Precision) -> None:
    real = REALS[precision].dtype
    exceeds, int64 = FORMS[op, precision].exceeds(loader(REALS[precision]), real.type), numba.int64
    if isinstance(op, BinaryOp):

        @numba.njit(numba.boolean(int64, int64, int64), **OUTER)
        def found(address, begin, end):
            return exceeds(address, 1, address, 1, begin, end)
    else:

        @numba.njit(numba.boolean(int64, int64, int64), **OUTER)
        def found(address, begin, end):
            return exceeds(address, begin, end)

    x = np.random.default_rng(6).uniform(0.1, 4, 133).astype(real)
    limits = np.finfo(real)
    if op in NORMAL and isinstance(op, UnaryOp):
        x[17], x[90] = limits.tiny, limits.max
    assert not found(x.ctypes.data, 1, x.size)
    special = (np.inf, -np.inf, np.nan, *((0.0, -0.0, -1.0, limits.tiny / 2) if op in NORMAL else ()))
    for place in (1, 2, 31, 64, 132):
        for value in special:
            beside = x.copy()
            beside[place] = value
            assert found(beside.ctypes.data, 1, x.size), (place, value)
            assert not found(beside.ctypes.data, 0, place)
            assert not found(beside.ctypes.data, place + 1, x.size)


@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_maps_have_the_bits_of_their_ops(op: UnaryOp, data_type: DataType) -> None:
    """A kernel of several ops checks the computed argument for special elements, as the op's own kernel does."""
    function = FUNCTIONS[function_name(op)]
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        x = np.concatenate([rng.uniform(0.1, 4, 1000), np.exp(rng.uniform(-80, 80, 1000)), np.full(300, 1.5), SPECIAL])
        x, y = x.astype(data_type.dtype), rng.uniform(-0.05, 0.05, x.size).astype(data_type.dtype)
        expected = ep.ops.mul(function(ep.ops.add(x, y)), y)
        found = ep.fuse(lambda x, y: function(x + y) * y, round_each=True)(x, y)
    differ = np.flatnonzero((found != expected) & ~((found != found) & (expected != expected)))
    assert differ.size == 0, (x[differ], found[differ], expected[differ])
