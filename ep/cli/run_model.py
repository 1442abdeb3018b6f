"""Run an ONNX model on arrays in .npy files.

  ep run model.onnx --input bytes=x.npy --out label=y.npy
  ep run model.onnx --input ids=ids.npy --input mask=mask.npy --out vectors=-

Each input of the model needs a file, and --out chooses the outputs that are computed. Inputs are memory-mapped; an
output appears under its name when it is complete, and none does after an error. With "--out NAME=-" the result goes to
stdout, and messages of the command to stderr. 'ep onnx show model.onnx' shows what the model has.

It needs the extra onnx. No code of a model is run.
"""

from __future__ import annotations

import time
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from ep.cli import models, names, npy, text
from ep.cli.computing import REFUSALS, device_of, refused
from ep.cli.parser import Parser, WrongArgumentError
from ep.common.notice import Wait
from ep.include.device_type import DeviceType
from ep.include.errors import EnvironmentVariableError


def add_arguments(parser: Parser) -> None:
    """Add the options of a model."""
    parser.add_argument("model", type=Path, help="an ONNX file")
    parser.add_argument(
        *("--input", "-i"), metavar="NAME=X.npy", type=models.named, action="append", default=[], help="an input"
    )
    parser.add_argument(
        *("--out", "-o"), metavar="NAME=Y.npy", type=models.named, action="append", required=True, help="an output"
    )
    parser.add_argument("--read-as", metavar="TYPE", type=names.data_type, help="what is in the files: bfloat16")
    parser.add_argument("--device", type=names.device_type, default=DeviceType.kCPU, help="default: cpu")
    models.add_otherwise(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Namespace) -> int:
    """Read, compute, write, and print one line for each output."""
    start = time.perf_counter()
    model = models.load(arguments.model, arguments.device, arguments.otherwise)
    wanted = models.by_name("--out", arguments.out, [one.name for one in model.outputs])
    targets = {name: npy.target(path) for name, path in wanted.items()}  # raises before anything is computed
    if sum(one.path is None for one in targets.values()) > 1:
        raise WrongArgumentError("--out: stdout takes one output")
    given = models.by_name("--input", arguments.input, [one.name for one in model.inputs])
    inputs = {name: npy.read(path, arguments.read_as) for name, path in given.items()}
    device = device_of(arguments.device)
    try:
        placed = {name: device.place(one) for name, one in inputs.items()}
        begin = time.perf_counter()
        with Wait(is_silent=True) if arguments.quiet else nullcontext():
            results = [device.bring_back(one) for one in model.run([*targets], placed)]
    except EnvironmentVariableError:
        raise
    except REFUSALS as error:
        raise refused(error) from error
    took = f"computed in {text.duration(time.perf_counter() - begin)}, loaded in {text.duration(begin - start)}"
    npy.write_results([*targets.values()], results, took, arguments.quiet)
    return 0
