"""The type in which an op is computed, and the ops whose time is dominated by computing."""

from __future__ import annotations

from typing import Final

import numpy as np

from ep.common.functor.math_library import ScalarType
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp

NARROW: Final = (DataType.kFloat16, DataType.kBFloat16)
"""The 16-bit types, which are computed in float32."""

_IN_FLOAT32: Final = (*NARROW, DataType.kFloat)

_WIDE: Final = (BinaryOp.kZeta, BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad)
"""The ops with intermediate results that may exceed the range of float32 although the result does not."""


def storage_arithmetic(data_type: DataType) -> ScalarType:
    """Return the NumPy scalar type that elements of `data_type` are loaded as."""
    return np.float32 if data_type in _IN_FLOAT32 else data_type.dtype.type


def arithmetic_type(op: UnaryOp | BinaryOp, data_type: DataType) -> ScalarType:
    """Return the NumPy scalar type that `op` on `data_type` is computed in."""
    return np.float64 if op in _WIDE and data_type in _IN_FLOAT32 else storage_arithmetic(data_type)


def attribute_type(op: UnaryOp | BinaryOp, data_type: DataType) -> ScalarType:
    """The type of the attributes of `op` on `data_type`: the type of the arithmetic, or float64 for other numbers."""
    scalar_type = arithmetic_type(op, data_type)
    return scalar_type if issubclass(scalar_type, np.floating) else np.float64


COMPUTE_BOUND: Final = frozenset((*(op for op, row in OPS.items() if row.cost is Cost.SERIES), *_WIDE))
"""The ops that contain loops or powers. Their kernels process one element at a time: with a copy of the code for each
element of a pack they would not fit in the instruction cache, and they are not bound by memory."""
