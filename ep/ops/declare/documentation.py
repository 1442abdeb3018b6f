"""The docstrings of the ops' functions, made from the tables of ops."""

from __future__ import annotations

import inspect
import textwrap
from functools import cache
from typing import Final

from ep.common.functor.lookup import functor_maker
from ep.include.data_type import DataType
from ep.include.number_kind import CHAR, Kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import OPS, function_name
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.names import parameter_name

_WIDTH: Final = 116  # 120 columns less the indentation in a function
_OUT: Final = "out: where to put the result, an array of its shape and dtype."
_UNARY: Final = "The result has the shape of x and {dtype}."
_BINARY: Final = """\
The result has the shape to which {0} and {1} broadcast, by NumPy's rules, and {dtype}.
A number of Python or NumPy takes the dtype of the other operand. Raises TypeError where the dtypes differ, ValueError
for shapes that do not broadcast and for a number that the dtype does not hold."""


def docstring(op: UnaryOp | BinaryOp) -> str:
    """Return the docstring of the function of `op`."""
    operands = OPS[op].operands
    lines = [_meaning(op), "", *_stand_ins(op), _wrapped(f"{', '.join(operands)}: {_dtypes(op)}.")]
    for position, attribute in enumerate(OPS[op].attributes):
        alias = f"also called attr{position}"
        default = "without a default" if attribute.default is None else f"{attribute.default:g} where left out"
        lines.append(f"{parameter_name(attribute)}: attribute, {default}; {alias}.")
    rule = _UNARY if isinstance(op, UnaryOp) else _BINARY
    rule = rule.format(*operands, dtype=_result_dtype(op))
    return "\n".join([*lines, _OUT, "", rule, f"The primitive's op is {op.name}."])


def _meaning(op: UnaryOp | BinaryOp) -> str:
    """Return the first paragraph of the docstring of the op's functor, for the first kind of numbers it supports."""
    for kind in (Kind.FLOAT, Kind.INTEGER, Kind.BOOL, Kind.COMPLEX):
        try:
            meaning = inspect.getdoc(functor_maker(op, kind))
        except LookupError:
            continue
        if meaning:
            return meaning.partition("\n\n")[0]
    return f"The function {function_name(op)} of {' and '.join(OPS[op].operands)}."


def _stand_ins(op: UnaryOp | BinaryOp) -> list[str]:
    """Return a line about the names of operands in the functor's text, if they differ from the function's."""
    if op in (UnaryOp.kRealGrad, UnaryOp.kImagGrad):
        return ["Here dy is x.", ""]
    return ["Here a is x, and b is y.", ""] if OPS[op].operands == ("x", "y") else []


def _dtypes(op: UnaryOp | BinaryOp) -> str:
    noun = "array" if isinstance(op, UnaryOp) else "arrays"
    return f"{noun} of any shape, of {', '.join(map(_name, _sources(op)))}"


def _result_dtype(op: UnaryOp | BinaryOp) -> str:
    pairs = [(_name(source), _name(OPS[op].result_type(source))) for source in _sources(op)]
    if all(source == result for source, result in pairs):
        return f"the dtype of {OPS[op].operands[0]}"
    if {result for _, result in pairs} == {"bool"}:
        return "dtype bool"
    return f"dtype {', '.join(f'{result} for {source}' for source, result in pairs)}"


@cache
def _name(data_type: DataType) -> str:
    return data_type.dtype.name


def _sources(op: UnaryOp | BinaryOp) -> list[DataType]:
    """Return the types of arrays that the function supports.

    No array is inferred to be of kChar, and there are no complex numbers with 16-bit parts.
    """
    row = OPS[op]
    inferred = [source for source in row.takes if source not in CHAR]
    return [source for source in inferred if row.result_type(source) in row.result_types(source)]


@cache  # most ops take arrays of the same types
def _wrapped(entry: str) -> str:
    return textwrap.fill(entry, _WIDTH, subsequent_indent="    ")
