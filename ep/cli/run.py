"""Run one operator on arrays in .npy files.

  ep run gather --params table.npy --indices ids.npy --axis 0 --out rows.npy
  ep run expand --x x.npy --sizes=-1,3,5,2 --out y.npy
  ep run gelu --x x.npy --out y.npy
  ep run add --x x.npy --y 0.5 --out y.npy
  ep run cast --x x.npy --dtype float16 --out y.npy
  ep run slice --x x.npy --slices 1:5,::2 --out y.npy
  ep run pad --x x.npy --pad-width "(1,1),(0,2)" --out y.npy
  ep run mean --x x.npy --axis 0,1 --keepdims --out y.npy
  ep run concat --arrays x.npy y.npy --axis 1 --out z.npy

Each operator has an option for each of its inputs and attributes; 'ep ops' lists them. Inputs are memory-mapped; the
output appears under its name when it is complete, and not at all after an error. Of an operator with several results,
"--out part.npy" writes part.0.npy, part.1.npy and so on. With "--out -" the result goes to stdout, and what the command
says to stderr. With "--device cuda" the inputs are copied to the GPU first and the result back, which the time of the
computation leaves out.

NumPy has no name for bfloat16 and stores it as raw elements of two bytes. --read-as bfloat16 reads them as bfloat16. A
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
    for operator in operators.add_commands(parser.add_commands("operator")):
        operator.add_argument("--read-as", metavar="TYPE", type=names.data_type, help="what is in the files: bfloat16")
        operator.add_argument("--device", type=names.device_type, default=DeviceType.kCPU, help="default: cpu")
        operator.add_argument("--out", metavar="O.npy", required=True, help="the file for the result; - is stdout")
        operator.add_argument("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Namespace) -> int:
    """Read, compute, write, and say in one line for each result what came out."""
    npy.target(arguments.out)  # refused before anything is computed
    device = _device(arguments.device)
    plan = operators.plan(arguments)
    start = time.perf_counter()
    for tiny, attributes in plan.rehearsals:
        with suppress(*_REFUSALS, LookupError):  # the same comes of the real inputs, with their shapes in the message
            plan.call(list(map(device.place, tiny)), attributes)
            device.stream.Sync()
    middle = time.perf_counter()
    try:
        placed = [device.place(one) for one in plan.inputs]
        begin = time.perf_counter()
        result = plan.call(placed, plan.attributes)
        device.stream.Sync()
        end = time.perf_counter()
        results = [device.bring_back(one) for one in (result if isinstance(result, list) else [result])]
    except EnvironmentVariableError:
        raise
    except (*_REFUSALS, LookupError) as error:
        raise CommandError(" ".join(str(error).split()) or type(error).__name__) from error
    copied = begin - middle + time.perf_counter() - end
    computed, setup = text.duration(end - begin), text.duration(middle - start)
    copies = f", copied there and back in {text.duration(copied)}" if device.copies else ""
    took = f"computed in {computed}{copies} after {setup} to compile or load the kernel"
    for target, one in zip(npy.targets(arguments.out, isinstance(result, list), len(results)), results, strict=True):
        npy.write(target, one)
        if not arguments.quiet:
            shape, size = " x ".join(map(str, one.shape)) or "scalar", text.megabytes(one.nbytes)
            said = f"{target.name}: {one.dtype.name}, {shape} ({size}), {took}"
            print(said, file=sys.stdout if target.path else sys.stderr)
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
