"""Expression: the functors of its ops, combined in one functor with all results."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np

from ep.common.functor.lookup import first_op
from ep.common.source import function_of
from ep.common.stored_types import stored_as
from ep.cuda.compile.arithmetic import attribute_type, storage_arithmetic
from ep.cuda.compile.conversion import converter, opaque
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.engine.map.expression_plan import takes_packs
from ep.cuda.engine.map.functor import Functor, op_function
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.structure import Constant, Step, Structure
from ep.include.primitive.unary_op import UnaryOp

_FEW_STEPS = 4
"""The largest number of steps of which a kernel has two copies, to have two packs in flight."""


@cache
def functor(structure: Structure) -> Functor:
    """Return the functor of a structure, whose operands are its sources."""
    names: dict[str, Any] = {"opaque": opaque}
    for value, constant in enumerate(structure.constants, len(structure.sources)):
        names[f"v{value}"] = _number(constant)
    first = len(structure.sources) + len(structure.constants)
    lines = [f"v{value} = {_text(names, value, step, structure)}" for value, step in enumerate(structure.steps, first)]
    arguments = ", ".join(f"v{value}" for value in range(len(structure.sources)))
    results = "".join(f"v{value}, " for value in structure.results)
    text = "\n    ".join([f"def expression({arguments}):", *lines, f"return ({results})"])
    digest = hashlib.sha256(repr(structure).encode()).hexdigest()[:24]
    return Functor(
        f"expression.{digest}",
        device_function(function_of(text, "expression", __name__, names)),
        tuple(map(stored_as, structure.sources)),
        tuple(stored_as(structure.data_type(value)) for value in structure.results),
        takes_packs=takes_packs(structure),
        is_short=len(structure.steps) <= _FEW_STEPS,
    )


def _number(constant: Constant) -> Any:
    """Return a number in its type of arithmetic."""
    number = np.frombuffer(constant.bits, constant.data_type.dtype)[0]
    return bool(number) if constant.data_type is DataType.kBool else storage_arithmetic(constant.data_type)(number)


def _text(names: dict[str, Any], value: int, step: Step, structure: Structure) -> str:
    """Return the source code of a step's value, and add the names that it refers to."""
    operands = [f"v{operand}" for operand in step.operands]
    if step.op is None:
        condition, first, second = operands
        return f"{first} if {condition} != 0 else {second}"
    names[f"to{value}"] = converter(_kept(step.data_type, step.rounded))
    if step.op in (UnaryOp.kCast, UnaryOp.kIdentity):
        return f"to{value}({operands[0]})"
    src_type = stored_as(structure.data_type(step.operands[0]))
    kind = number_kind(src_type)
    op = first_op(step.op, kind)
    names[f"f{value}"] = op_function(op, src_type)
    for position, attribute in enumerate(step.attributes):
        names[f"a{value}_{position}"] = attribute_type(op, src_type)(attribute)
        operands.append(f"a{value}_{position}")
    if kind in (Kind.FLOAT, Kind.COMPLEX):
        operands = [f"opaque({operand})" for operand in operands]
    return f"to{value}(f{value}({', '.join(operands)}))"


def _kept(data_type: DataType, rounded: bool) -> DataType:
    """Return the data type of a value between steps."""
    is_half = data_type in (DataType.kFloat16, DataType.kBFloat16)
    return DataType.kFloat if is_half and not rounded else stored_as(data_type)
