"""Run one operator on arrays in .npy files.

  ep run gather --params table.npy --indices ids.npy --axis 0 --out rows.npy
  ep run expand --input x.npy --size=-1,3,5,2 --out y.npy
  ep run unary --op gelu --input x.npy --out y.npy
  ep run binary --op add --lhs x.npy --rhs 0.5 --out y.npy
  ep run cast --input x.npy --to float16 --out y.npy
  ep run permute --input x.npy --axes 1,0 --out y.npy
  ep run pad --input x.npy --before 1,0 --after 1,2 --value 0 --out y.npy
  ep run where --condition c.npy --x x.npy --y 0 --out y.npy
  ep run reduce --op mean --input x.npy --axes 0,1 --out y.npy
  ep run softmax --input x.npy --axis 1 --out y.npy
  ep run one-hot --indices ids.npy --classes 10 --out y.npy

Inputs are memory-mapped; the output appears under its name when it is complete, and not at all after an error. With
"--out -" it goes to stdout, and what the command says to stderr. With "--device cuda" the inputs are copied to the GPU
first and the result back, which the time of the computation leaves out.

NumPy has no name for bfloat16 and stores it as raw elements of two bytes. --dtype bfloat16 reads them as bfloat16. A
result in bfloat16 is stored alike: read it back with numpy.load("y.npy").view(ml_dtypes.bfloat16).
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ep.cli import names, npy, operators, text
from ep.cli.parser import CommandError, Parser
from ep.include.device_type import DeviceType
from ep.include.errors import EnvironmentVariableError
from ep.include.stream import Stream

# what an operator raises for arguments that do not fit it
_REFUSALS = (TypeError, ValueError, IndexError, OverflowError, MemoryError)


def add_arguments(parser: Parser) -> None:
    """Add the operators, each with its own options."""
    commands = parser.add_commands("operator")
    operators.add_arguments(commands)
    for operator in commands.choices.values():
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
