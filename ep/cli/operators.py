"""The operators of `ep run`: the options of each, and what it does with its files."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ep.cli import names, npy, text
from ep.cli.parser import CommandError
from ep.include.primitive import UnaryOp

Plan = tuple[Callable[..., Any], Sequence[Any], Sequence[Sequence[Any]]]
"""An operator, its operands, and operands of one element each, with which it compiles what the real ones need."""


def add_arguments(commands: Any) -> None:
    """Add each operator as a command with its own options; `operate` of what is parsed makes its Plan."""
    gather = commands.add_parser("gather", help="elements of an array along one axis, by indices")
    gather.add_argument("--params", metavar="P.npy", required=True, help="the array to take from")
    gather.add_argument("--indices", metavar="I.npy", required=True, help="which elements, as integers")
    gather.add_argument("--axis", type=int, help="the axis of P to take along (default: batch-dims)")
    gather.add_argument("--batch-dims", type=int, default=0, help="how many leading axes P and I share (default: 0)")
    gather.add_argument("--mode", default="raise", help="for indices out of range: raise, wrap_negative, zero, clip")
    gather.set_defaults(operate=_gather)

    for name, what in (("expand", "an array repeated along axes of size 1"), ("repeat", "an array laid side by side")):
        repeated = commands.add_parser(name, help=what)
        repeated.add_argument("--input", metavar="X.npy", required=True, help="the array")
        meaning = "the sizes of the result; -1 keeps a size" if name == "expand" else "copies along each axis"
        repeated.add_argument("--size", metavar="N,N,...", type=_integers, required=True, help=meaning)
        repeated.set_defaults(operate=_expand_or_repeat)

    unary = commands.add_parser("unary", help="an op of one operand on every element")
    unary.add_argument("--op", type=names.unary_op, required=True, help="such as relu; 'ep list' has all")
    unary.add_argument("--input", metavar="X.npy", required=True, help="the operand")
    unary.set_defaults(operate=_unary)

    binary = commands.add_parser("binary", help="an op of two operands, with broadcasting")
    binary.add_argument("--op", type=names.binary_op, required=True, help="such as add; 'ep list' has all")
    binary.add_argument("--lhs", metavar="A.npy", required=True, help="the first operand, an array or a number")
    binary.add_argument("--rhs", metavar="B.npy", required=True, help="the second operand, an array or a number")
    binary.set_defaults(operate=_binary)

    for with_attributes in (unary, binary):
        with_attributes.add_argument("--attr0", type=float, help="the op's first attribute; 'ep show' says which")
        with_attributes.add_argument("--attr1", type=float, help="the op's second attribute")

    cast = commands.add_parser("cast", help="an array in another data type")
    cast.add_argument("--input", metavar="X.npy", required=True, help="the array")
    cast.add_argument("--to", type=names.data_type, required=True, help="the data type, such as float16")
    cast.set_defaults(operate=_cast)

    permute = commands.add_parser("permute", help="the axes of an array in another order")
    permute.add_argument("--input", metavar="X.npy", required=True, help="the array")
    meaning = "each axis of X once, in the order of the result; negative: from the last"
    permute.add_argument("--axes", metavar="N,N,...", type=_integers, required=True, help=meaning)
    permute.set_defaults(operate=_permute)

    pad = commands.add_parser("pad", help="an array with elements of one value around it")
    pad.add_argument("--input", metavar="X.npy", required=True, help="the array")
    for side in ("before", "after"):
        meaning = f"how many elements each axis gets {side} its own; negative: loses (default: none)"
        pad.add_argument(f"--{side}", metavar="N,N,...", type=_integers, help=meaning)
    pad.add_argument("--value", type=_number, default=0, help="the value (default: 0)")
    pad.set_defaults(operate=_pad)

    where = commands.add_parser("where", help="elements of one of two arrays, chosen by a third")
    where.add_argument("--condition", metavar="C.npy", required=True, help="bool or integers: x where it is not 0")
    where.add_argument("--x", metavar="X.npy", required=True, help="an array or a number")
    where.add_argument("--y", metavar="Y.npy", required=True, help="an array or a number")
    where.set_defaults(operate=_where)

    matmul = commands.add_parser("matmul", help="products of matrices, with broadcasting")
    for name, what in (("lhs", "left"), ("rhs", "right")):
        matmul.add_argument(f"--{name}", metavar=f"{name[0].upper()}.npy", required=True, help=f"the {what} operand")
        matmul.add_argument(f"--transpose-{name}", action="store_true", help="with its last two axes exchanged")
    matmul.set_defaults(operate=_matmul)

    reduce = commands.add_parser("reduce", help="one value of all elements along some axes")
    reduce.add_argument("--op", type=names.reduce_op, required=True, help="such as sum, max or mean")
    reduce.add_argument("--input", metavar="X.npy", required=True, help="the array")
    reduce.add_argument("--axes", metavar="N,N,...", type=_integers, help="the axes that go (default: all)")
    reduce.add_argument("--keepdims", action="store_true", help="keep these axes, with size 1")
    reduce.set_defaults(operate=_reduce)

    softmax = commands.add_parser("softmax", help="normalised exponentials along an axis")
    softmax.add_argument("--input", metavar="X.npy", required=True, help="the array")
    softmax.add_argument("--axis", type=int, default=-1, help="the axis (default: the last)")
    softmax.add_argument("--log", action="store_true", help="their logarithms")
    softmax.set_defaults(operate=_softmax)

    one_hot = commands.add_parser("one-hot", help="indices of classes as rows with one element of another value")
    one_hot.add_argument("--indices", metavar="I.npy", required=True, help="the indices, as integers")
    one_hot.add_argument("--classes", type=int, required=True, help="the elements of a row")
    one_hot.add_argument("--on", type=_number, default=1, help="the value at the index (default: 1)")
    one_hot.add_argument("--off", type=_number, default=0, help="the value elsewhere (default: 0)")
    one_hot.add_argument("--to", type=names.data_type, help="the data type of the result (default: that of the values)")
    one_hot.set_defaults(operate=_one_hot)


def _gather(ops: Any, arguments: Namespace) -> Plan:
    params, indices = npy.read(arguments.params, arguments.dtype), npy.read(arguments.indices)

    def operate(params: Any, indices: Any) -> Any:
        return ops.gather(params, indices, arguments.axis, arguments.batch_dims, arguments.mode)

    # a negative index may be read as another type
    return operate, (params, indices), [(_tiny(params), _tiny(indices, index)) for index in (0, -1)]


def _expand_or_repeat(ops: Any, arguments: Namespace) -> Plan:
    operate = getattr(ops, arguments.operator)
    x = npy.read(arguments.input, arguments.dtype)
    return operate, (x, *arguments.size), [(_tiny(x), *(1 for _ in arguments.size))]


def _unary(ops: Any, arguments: Namespace) -> Plan:
    return _elementwise(ops, arguments, npy.read(arguments.input, arguments.dtype))


def _binary(ops: Any, arguments: Namespace) -> Plan:
    operands = [_operand(text, arguments) for text in (arguments.lhs, arguments.rhs)]
    return _elementwise(ops, arguments, *operands)


def _cast(ops: Any, arguments: Namespace) -> Plan:
    x = npy.read(arguments.input, arguments.dtype)
    return lambda x: ops.cast(x, arguments.to), (x,), [(_tiny(x),)]


def _permute(ops: Any, arguments: Namespace) -> Plan:
    x = npy.read(arguments.input, arguments.dtype)
    return lambda x: ops.permute(x, arguments.axes), (x,), [(_tiny(x),)]


def _pad(ops: Any, arguments: Namespace) -> Plan:
    x = npy.read(arguments.input, arguments.dtype)
    sides = arguments.before or [0] * x.ndim, arguments.after or [0] * x.ndim
    for side, name in zip(sides, ("--before", "--after"), strict=True):
        if len(side) != x.ndim:
            raise CommandError(f"{name} has {text.plural(len(side), 'number')}, and the array {x.ndim} axes")
    widths = list(zip(*sides, strict=True))
    tiny = _tiny(x), [(min(max(before, 0), 1), min(max(after, 0), 1)) for before, after in widths]
    return lambda x, widths: ops.pad(x, widths, constant_values=arguments.value), (x, widths), [tiny]


def _where(ops: Any, arguments: Namespace) -> Plan:
    operands = [npy.read(arguments.condition), *(_operand(text, arguments) for text in (arguments.x, arguments.y))]
    return ops.where, operands, [_tinies(operands)]


def _matmul(ops: Any, arguments: Namespace) -> Plan:
    operands = [npy.read(file, arguments.dtype) for file in (arguments.lhs, arguments.rhs)]

    def operate(x1: Any, x2: Any) -> Any:
        return ops.matmul(x1, x2, arguments.transpose_lhs, arguments.transpose_rhs)

    return operate, operands, [_tinies(operands)]


def _reduce(ops: Any, arguments: Namespace) -> Plan:
    x = npy.read(arguments.input, arguments.dtype)
    function = getattr(ops, arguments.op.name.removeprefix("k").lower())
    axes = None if arguments.axes is None else tuple(arguments.axes)
    return lambda x: function(x, axis=axes, keepdims=arguments.keepdims), (x,), [(_tiny(x),)]


def _softmax(ops: Any, arguments: Namespace) -> Plan:
    x = npy.read(arguments.input, arguments.dtype)
    function = ops.log_softmax if arguments.log else ops.softmax
    return lambda x: function(x, arguments.axis), (x,), [(_tiny(x),)]


def _one_hot(ops: Any, arguments: Namespace) -> Plan:
    indices = npy.read(arguments.indices)

    def operate(indices: Any, classes: int) -> Any:
        return ops.one_hot(indices, classes, arguments.on, arguments.off, arguments.to)

    return operate, (indices, arguments.classes), [(_tiny(indices), 1)]


def _elementwise(ops: Any, arguments: Namespace, *operands: Any) -> Plan:
    from ep.ops.names import function_name

    if arguments.op is UnaryOp.kCast:
        raise CommandError("kCast needs a data type to cast to: 'ep run cast' takes one")
    function = getattr(ops, function_name(arguments.op))
    given = {"attr0": arguments.attr0, "attr1": arguments.attr1}
    attributes = {name: value for name, value in given.items() if value is not None}

    def operate(*operands: Any) -> Any:
        return function(*operands, **attributes)

    return operate, operands, [_tinies(operands)]


def _operand(given: str, arguments: Namespace) -> Any:
    """A number, or the array in a file."""
    number = _number_in(given)
    return npy.read(given, arguments.dtype) if number is None else number


def _number_in(given: str) -> float | None:
    for number in (int, float):
        with suppress(ValueError):
            return number(given)
    return None


def _number(given: str) -> float:
    number = _number_in(given)
    if number is None:
        raise ArgumentTypeError(f"{given!r} must be a number")
    return number


def _tinies(operands: Sequence[Any]) -> list[Any]:
    """One element of each array; numbers as they are."""
    return [_tiny(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]


def _tiny(array: npy.Array, value: int = 0) -> npy.Array:
    """One element, in as many axes as `array` has."""
    return np.full((1,) * array.ndim, value, array.dtype)


def _integers(given: str) -> list[int]:
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{given!r} must be integers with commas between, such as -1,3,5") from None
