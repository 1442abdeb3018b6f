"""Run one operator, or an ONNX model, on arrays in .npy files.

  ep run gather --params table.npy --indices ids.npy --axis 0 --out rows.npy
  ep run expand --x x.npy --sizes=-1,3,5,2 --out y.npy
  ep run add --x x.npy --y 0.5 --out y.npy
  ep run slice --x x.npy --slices 1:5,::2 --out y.npy
  ep run pad --x x.npy --pad-width "(1,1),(0,2)" --out y.npy
  ep run concat --arrays x.npy y.npy --axis 1 --out z.npy
  ep run model.onnx --input bytes=x.npy --out label=y.npy

'ep ops' lists the operators. 'ep run OPERATOR --help' describes the options of one, and those of all: --out, --device,
--read-as and --sbp. 'ep run model.onnx --help' describes those of a model.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from ep.cli import names, npy, operators, ranks, text
from ep.cli.computing import REFUSALS, device_of, refused
from ep.cli.parser import Parser
from ep.common.notice import Wait
from ep.include.device_type import DeviceType
from ep.include.errors import EnvironmentVariableError

_ABOUT_ALL: Final = """\
Inputs are memory-mapped; the output appears under its name when it is complete, and not at all after an error. If an
operator has several results, "--out part.npy" writes part.0.npy, part.1.npy and so on. With "--out -" the result goes
to stdout, and messages of the command to stderr. With "--device cuda" the inputs are copied to the GPU first and the
result back; the reported time of the computation excludes these copies.

Started by mpiexec with --sbp, the command runs on all ranks of the job: each reads its piece of every input, with the
SBP that --sbp gives (B by default), and writes its piece of the output. It prints what was moved. In a shell, S(0)
needs quotes. 'ep sbp' prints beforehand which signature will be chosen.

  mpiexec -n 4 ep run gather --params table.npy --indices ids.npy --sbp "S(0)" --sbp indices=B --out rows.npy

NumPy has no name for bfloat16 and stores it as raw elements of two bytes. --read-as bfloat16 reads them as bfloat16. A
result in bfloat16 is stored in the same way: read it back with numpy.load("y.npy").view(ml_dtypes.bfloat16)."""


def instead(words: Sequence[str]) -> str | None:
    """Return the module of the command for a file of a model in the place of an operator; None for an operator."""
    return "ep.cli.run_model" if words and words[0].endswith(".onnx") else None


def add_arguments(parser: Parser) -> None:
    """Add the operators, each with its own options."""
    for operator in operators.add_commands(
        parser.add_commands("operator", "such as gather; 'ep ops' lists all", names.operator.refusal)
    ):
        operator.add_argument("--read-as", metavar="TYPE", type=names.data_type, help="what is in the files: bfloat16")
        operator.add_argument("--device", type=names.device_type, default=DeviceType.kCPU, help="default: cpu")
        operator.add_argument("--out", metavar="O.npy", required=True, help="the file for the result; - is stdout")
        ranks.add_arguments(operator)
        operator.add_argument("--quiet", action="store_true", help="print nothing when all goes well")
        operator.epilog = _ABOUT_ALL


def run(arguments: Namespace) -> int:
    """Read, compute, write, and print one line for each result."""
    if ranks.are_asked_for(arguments):
        return ranks.run(arguments)
    npy.target(arguments.out)  # raises before anything is computed
    device, computation = device_of(arguments.device), operators.computation(arguments)
    start = time.perf_counter()
    with Wait(is_silent=True) if arguments.quiet else nullcontext():
        device.rehearse(computation)
    middle = time.perf_counter()
    try:
        placed = [device.place(one) for one in computation.inputs]
        begin = time.perf_counter()
        result = computation.call(placed, computation.attributes)
        device.stream.Sync()
        end = time.perf_counter()
        results = [device.bring_back(one) for one in (result if isinstance(result, list) else [result])]
    except EnvironmentVariableError:
        raise
    except REFUSALS as error:
        raise refused(error) from error
    copied = begin - middle + time.perf_counter() - end
    computed, setup = text.duration(end - begin), text.duration(middle - start)
    copies = f", copied there and back in {text.duration(copied)}" if device.copies else ""
    took = f"computed in {computed}{copies} after {setup} to compile or load the kernel"
    targets = npy.targets(arguments.out, isinstance(result, list), len(results))
    npy.write_results(targets, results, took, arguments.quiet)
    return 0
