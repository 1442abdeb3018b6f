"""The type that an op is computed in, and which ops are so much work that nothing else matters."""

from __future__ import annotations

from typing import Final

import numpy as np

from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp

NARROW: Final = (DataType.kFloat16, DataType.kBFloat16)
"""The types of 16 bits, which are computed with in float32."""

_IN_FLOAT32: Final = (*NARROW, DataType.kFloat)

_WIDE: Final = (BinaryOp.kZeta, BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad)
"""The ops whose intermediate results leave the range of float32 where the result does not."""


def storage_arithmetic(data_type: DataType) -> type[np.generic]:
    """Return the NumPy scalar type that elements of `data_type` are loaded as."""
    return np.float32 if data_type in _IN_FLOAT32 else data_type.dtype.type


def arithmetic_type(op: UnaryOp | BinaryOp, data_type: DataType) -> type[np.generic]:
    """Return the NumPy scalar type that `op` on `data_type` is computed in."""
    return np.float64 if op in _WIDE and data_type in _IN_FLOAT32 else storage_arithmetic(data_type)


def attribute_type(op: UnaryOp | BinaryOp, data_type: DataType) -> type[np.generic]:
    """The type of the attributes of `op` on `data_type`: that of the arithmetic, float64 beside other numbers."""
    scalar_type = arithmetic_type(op, data_type)
    return scalar_type if issubclass(scalar_type, np.floating) else np.float64


COMPUTE_BOUND: Final = frozenset((*(op for op, row in OPS.items() if row.cost is Cost.SERIES), *_WIDE))
"""The ops with loops and powers of their own. Their kernels take one element at a time: with a copy of the code for
each element of a pack they would not fit in the instruction cache, and memory is not what they wait for."""
