"""Run one operator on arrays in .npy files.

  ep run gather --params table.npy --indices ids.npy --axis 0 --out rows.npy
  ep run expand --input x.npy --size=-1,3,5,2 --out y.npy
  ep run unary --op gelu --input x.npy --out y.npy
  ep run binary --op add --lhs x.npy --rhs 0.5 --out y.npy

Inputs are memory-mapped; the output appears under its name when it is complete, and not at all after an error. With
"--out -" it goes to stdout, and what the command says to stderr. With "--device cuda" the inputs are copied to the GPU
first and the result back, which the time of the computation leaves out.

NumPy has no name for bfloat16 and stores it as raw elements of two bytes. --dtype bfloat16 reads them as bfloat16. A
result in bfloat16 is stored alike: read it back with numpy.load("y.npy").view(ml_dtypes.bfloat16).
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ep.cli import names, npy, text
from ep.cli.parser import CommandError, Parser
from ep.include.device_type import DeviceType
from ep.include.errors import EnvironmentVariableError
from ep.include.stream import Stream

# what an operator raises for arguments that do not fit it
_REFUSALS = (TypeError, ValueError, IndexError, OverflowError, MemoryError)


def add_arguments(parser: Parser) -> None:
    """Add the operators, each with its own options."""
    operators = parser.add_commands("operator")

    gather = operators.add_parser("gather", help="elements of an array along one axis, by indices")
    gather.add_argument("--params", metavar="P.npy", required=True, help="the array to take from")
    gather.add_argument("--indices", metavar="I.npy", required=True, help="which elements, as integers")
    gather.add_argument("--axis", type=int, help="the axis of P to take along (default: batch-dims)")
    gather.add_argument("--batch-dims", type=int, default=0, help="how many leading axes P and I share (default: 0)")
    gather.add_argument("--mode", default="raise", help="for indices out of range: raise, wrap_negative, zero, clip")
    gather.set_defaults(operate=_gather)

    for name, what in (("expand", "an array repeated along axes of size 1"), ("repeat", "an array laid side by side")):
        repeated = operators.add_parser(name, help=what)
        repeated.add_argument("--input", metavar="X.npy", required=True, help="the array")
        meaning = "the sizes of the result; -1 keeps a size" if name == "expand" else "copies along each axis"
        repeated.add_argument("--size", metavar="N,N,...", type=_integers, required=True, help=meaning)
        repeated.set_defaults(operate=_expand_or_repeat)

    unary = operators.add_parser("unary", help="an op of one operand on every element")
    unary.add_argument("--op", type=names.unary_op, required=True, help="such as relu; 'ep list' has all")
    unary.add_argument("--input", metavar="X.npy", required=True, help="the operand")
    unary.set_defaults(operate=_unary)

    binary = operators.add_parser("binary", help="an op of two operands, with broadcasting")
    binary.add_argument("--op", type=names.binary_op, required=True, help="such as add; 'ep list' has all")
    binary.add_argument("--lhs", metavar="A.npy", required=True, help="the first operand, an array or a number")
    binary.add_argument("--rhs", metavar="B.npy", required=True, help="the second operand, an array or a number")
    binary.set_defaults(operate=_binary)

    for with_attributes in (unary, binary):
        with_attributes.add_argument("--attr0", type=float, help="the op's first attribute; 'ep show' says which")
        with_attributes.add_argument("--attr1", type=float, help="the op's second attribute")
    for operator in operators.choices.values():
        operator.add_argument("--dtype", type=names.data_type, help="what the data is; needed for bfloat16 alone")
        operator.add_argument("--device", type=names.device_type, default=DeviceType.kCPU, help="default: cpu")
        operator.add_argument("--out", metavar="O.npy", required=True, help="the file for the result; - is stdout")
        operator.add_argument("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Namespace) -> int:
    """Read, compute, write, and say in one line what came out."""
    from ep import ops

    target = npy.target(arguments.out)
    device = _device(arguments.device)
    operate, operands, rehearsals = arguments.operate(ops, arguments)
    start = time.perf_counter()
    for tiny in rehearsals:
        with suppress(*_REFUSALS, LookupError):  # the same comes of the real operands, with their shapes in the message
            operate(*map(device.place, tiny))
            device.stream.Sync()
    middle = time.perf_counter()
    try:
        placed = [device.place(operand) for operand in operands]
        begin = time.perf_counter()
        result = operate(*placed)
        device.stream.Sync()
        end = time.perf_counter()
        result = device.bring_back(result)
    except EnvironmentVariableError:
        raise
    except (*_REFUSALS, LookupError) as error:
        raise CommandError(" ".join(str(error).split()) or type(error).__name__) from error
    copied = begin - middle + time.perf_counter() - end
    npy.write(target, result)
    if not arguments.quiet:
        shape, size = " x ".join(map(str, result.shape)) or "scalar", text.megabytes(result.nbytes)
        computed, setup = text.duration(end - begin), text.duration(middle - start)
        copies = f", copied there and back in {text.duration(copied)}" if device.copies else ""
        print(
            f"{target.name}: {result.dtype.name}, {shape} ({size}), computed in {computed}{copies} "
            f"after {setup} to compile or load the kernel",
            file=sys.stdout if target.path else sys.stderr,
        )
    return 0


class _Device(NamedTuple):
    """Where the operator runs: its stream, and how operands get there and results back."""

    stream: Stream
    place: Callable[[Any], Any]
    bring_back: Callable[[Any], npy.Array]
    copies: bool


def _device(device_type: DeviceType) -> _Device:
    from ep.ops.devices import arrays_on

    try:
        arrays = arrays_on(device_type)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if arrays.takes_host_arrays:  # memory maps as they are
        return _Device(arrays.stream, lambda operand: operand, lambda result: result, copies=False)

    def place(operand: Any) -> Any:
        return arrays.copy_from_host(operand) if isinstance(operand, np.ndarray) else operand

    return _Device(arrays.stream, place, arrays.copy_to_host, copies=True)


Plan = tuple[Callable[..., Any], Sequence[Any], Sequence[Sequence[Any]]]
"""An operator, its operands, and operands of one element each, with which it compiles what the real ones need."""


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


def _elementwise(ops: Any, arguments: Namespace, *operands: Any) -> Plan:
    from ep.ops.names import function_name

    function = getattr(ops, function_name(arguments.op), None)
    if function is None:
        raise CommandError(f"{arguments.op.name} has no operator of its own")
    given = {"attr0": arguments.attr0, "attr1": arguments.attr1}
    attributes = {name: value for name, value in given.items() if value is not None}

    def operate(*operands: Any) -> Any:
        return function(*operands, **attributes)

    tiny = [_tiny(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
    return operate, operands, [tiny]


def _operand(given: str, arguments: Namespace) -> Any:
    """A number, or the array in a file."""
    for number in (int, float):
        with suppress(ValueError):
            return number(given)
    return npy.read(given, arguments.dtype)


def _tiny(array: npy.Array, value: int = 0) -> npy.Array:
    """One element, in as many axes as `array` has."""
    return np.full((1,) * array.ndim, value, array.dtype)


def _integers(given: str) -> list[int]:
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{given!r} must be integers with commas between, such as -1,3,5") from None
