"""The number of elements of an op that is worth a second thread, by their bytes and their computation."""

from __future__ import annotations

from ep.common.functor.lookup import functor_maker
from ep.cpu.kernels.functors import LOOPS, is_single
from ep.cpu.kernels.math_library import elementary_functions_of
from ep.cpu.shared.state import GRAIN_BYTES
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp

# the cost of computing an element, without moving its operands, in bytes that could be moved meanwhile: 170 per ns
_SINGLE = 20  # a function in float32 arithmetic: 0.1 (exp) to 0.4 ns (gelu)
_DOUBLE = 80  # a function in float64 arithmetic: 0.3 (sin) to 1.8 ns (gelu)
_POWER = 200  # 0.8 or 2.3 ns for floating types, 1.2 to 1.7 for integers
_INTEGER_DIVISION = 200  # 1.5 ns, 3.5 for int8
_LOOP = 800  # fmod 5 ns
_GAMMA = 300  # lgamma 2.4 ns, digamma 2.2, trigamma 1.2; twice that for float64


def grain_elements(op: UnaryOp | BinaryOp, operands: tuple[DataType, ...]) -> int:
    """Return the most elements of a launch of `op` on one thread; `operands`: the data types of all buffers."""
    cost = sum(data_type.itemsize for data_type in operands) + _computation(op, operands[0])
    return max(GRAIN_BYTES // cost, 1)


def _computation(op: UnaryOp | BinaryOp, src_type: DataType) -> int:
    kind, cost = number_kind(src_type), OPS[op].cost
    if kind is not Kind.FLOAT:
        return _POWER if op is BinaryOp.kPow else _INTEGER_DIVISION if cost in (Cost.DIVISION, Cost.REMAINDER) else 0
    if op in LOOPS or cost is Cost.REMAINDER:
        return _LOOP
    if cost is Cost.POWER:
        return _POWER
    if cost is Cost.SERIES:
        return _GAMMA
    functions = elementary_functions_of(functor_maker(op, kind))
    return len(functions) * (_SINGLE if is_single(op, src_type) else _DOUBLE)
