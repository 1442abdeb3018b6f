"""The tables of ops: the record of each UnaryOp, BinaryOp and ReduceOp.

Keys, result types, the functions of `ep.ops` and their documentation are made from it. The meaning of an op is its
functor in `ep.common.functor`. A device adds only its own choices, such as the type that it computes in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Final

from ep.include.number_kind import ALL, REAL
from ep.include.primitive.binary_op import BinaryOp as B
from ep.include.primitive.op_definition import INEXACT, Attribute, Gives, OpDefinition
from ep.include.primitive.reduce_op import ReduceOp as R
from ep.include.primitive.unary_op import UnaryOp as U

_gradients: dict[Enum | None, tuple[U | B, ...]] = {op: (U[name],) for op in U if (name := op.definition.transposed)}
for _op in B:
    _gradients[_op.definition.backward_of] = (*_gradients.get(_op.definition.backward_of, ()), _op)

OPS: Final[Mapping[U | B, OpDefinition]] = {
    **{op: replace(op.definition, gradient=_gradients.get(op, ())) for op in U},
    **{op: op.definition for op in B},
}
"""The record of each elementwise op."""

REDUCTIONS: Final[Mapping[R, OpDefinition]] = {
    **dict.fromkeys((R.kSum, R.kProd), OpDefinition(ALL)),
    **dict.fromkeys((R.kMin, R.kMax), OpDefinition(REAL)),
    R.kMean: OpDefinition(INEXACT),
    **dict.fromkeys((R.kAny, R.kAll), OpDefinition(ALL, Gives.BOOLEAN)),
}
"""The record of each reduction."""


_WORD: Final = re.compile("ReLU|[A-Z][a-z0-9]*")
# `max` and `min` are names of reductions
_OTHER_NAMES: Final[dict[Enum, str]] = {B.kMax: "maximum", B.kMin: "minimum"}


def function_name(op: Enum) -> str:
    """Return an enumerator in snake_case: `kFastGelu` is `fast_gelu`; each capital begins a word, but `ReLU` is one
    word.

    Only kMax and kMin have other names: `maximum` and `minimum`.
    """
    return _OTHER_NAMES.get(op) or "_".join(_WORD.findall(op.name)).lower()


def attributes_of(op: Enum | None) -> tuple[Attribute, ...]:
    """Return the attributes of `op`; none for anything but a UnaryOp or BinaryOp."""
    return OPS[op].attributes if isinstance(op, U | B) else ()
