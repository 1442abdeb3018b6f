"""How many elements of an op are worth a second thread: by the bytes that they move, and by what they compute."""

from __future__ import annotations

from ep.common.functor import functor_maker
from ep.common.functor.table import Kind
from ep.common.number_kind import number_kind
from ep.cpu.kernels.functors import _LOOPS
from ep.cpu.kernels.math_library import elementary_functions_of
from ep.cpu.launch_state import GRAIN_BYTES
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp

# what an element costs beyond the move of its operands, in bytes that could be moved meanwhile
_LOOP = 1000
_FUNCTION = 50
_INTEGER_POWER = 300
_INTEGER_DIVISION = 50

_DIVISIONS = frozenset(
    (BinaryOp.kDiv, BinaryOp.kFmod, BinaryOp.kFloorDiv, BinaryOp.kTruncDiv, BinaryOp.kFloorMod)
)  # fmt: skip


def grain_elements(op: UnaryOp | BinaryOp, operands: tuple[DataType, ...]) -> int:
    """The elements up to which a launch of `op` stays on one thread; `operands`: the data types of all buffers."""
    cost = sum(data_type.itemsize for data_type in operands) + _computation(op, operands[0])
    return max(GRAIN_BYTES // cost, 1)


def _computation(op: UnaryOp | BinaryOp, src_type: DataType) -> int:
    kind = number_kind(src_type)
    if kind is not Kind.FLOAT:
        return _INTEGER_POWER if op is BinaryOp.kPow else _INTEGER_DIVISION if op in _DIVISIONS else 0
    if op in _LOOPS:
        return _LOOP
    return _FUNCTION if elementary_functions_of(functor_maker(op, kind)) else 0
