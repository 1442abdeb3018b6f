"""Run every primitive on every device, on data as large as real work has, and check the results against NumPy."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Final

import numpy as np

from ep.bench.cases import Case, batch_gather, binary, expand, gather, numpy_fast_gelu, numpy_relu, unary
from ep.bench.trial import set_up
from ep.cli import names, output, present
from ep.cli.parser import Parser
from ep.include.device import Device
from ep.include.primitive import BinaryOp, UnaryOp, registered

_SECONDS: Final = 0.3
_COLUMNS: Final = ("what", "primitive", "ep ms", "NumPy ms", "GB/s", "check")

_TOKENS, _HIDDEN = 16_384, 768


def demo_cases() -> list[Case]:
    """The demo: what a small language model does to its data."""
    activations = (_TOKENS, _HIDDEN)
    return [
        gather("look up 16,384 words in a 30,522 x 384 embedding table", 30_522, 384, _TOKENS),
        batch_gather("pick 77 of 512 positions in each of 32 sentences", 32, 512, _HIDDEN, 77),
        expand("repeat 32 padding masks for 12 heads and 512 queries", (32, 1, 1, 512), (32, 12, 512, 512), np.bool_),
        unary("relu of 16,384 x 768 activations", UnaryOp.kRelu, activations, numpy_relu),
        unary("gelu (tanh form) of 16,384 x 768 activations", UnaryOp.kFastGelu, activations, numpy_fast_gelu, 1e-5),
        binary("add a bias of 768 to each row", BinaryOp.kAdd, activations, (_HIDDEN,), np.add),
        binary("scale each row by its own weight", BinaryOp.kMul, activations, (_TOKENS, 1), np.multiply),
        binary("find activations above 0", BinaryOp.kGreaterThan, activations, (), np.greater, np.bool_),
    ]


def add_arguments(parser: Parser) -> None:
    """Add the options of `ep demo`."""
    parser.add_argument("--device", type=names.device_type, action="append", help="such as cpu (default: all present)")


def run(arguments: Namespace) -> int:
    """Run the demo; 1 where a result is wrong."""
    print("Each primitive runs on data as large as real work has; every result is compared with NumPy's.")
    print("The first run compiles what it needs and keeps it on disk, so that later runs start at once.", flush=True)
    verdicts = [_run_on(device) for device in present.devices(arguments.device)]
    if all(verdicts):
        print("All results agree with NumPy's. Next: 'ep list' shows everything there is, 'ep bench' times it.")
        return 0
    print("Some results differ from NumPy's: see the rows marked 'fail'.")
    return 1


def _run_on(device: Device) -> bool:
    implemented = {entry.interface for entry in registered(device.device_type())}
    cases = [case for case in demo_cases() if case.primitive in implemented]
    start = time.perf_counter()
    prepared, rows, right = 0.0, [], True
    for case in cases:
        with output.status(case.name):
            trial = set_up(case, device, names.factory_of(case.primitive))
            times = trial.time(_SECONDS)
        prepared += trial.prepare_seconds
        right &= trial.is_right
        rows.append(
            (
                case.name,
                names.short_name(case.primitive),
                f"{times['ep'].median * 1e3:.3f}",
                f"{times['numpy'].median * 1e3:.3f}",
                f"{case.bytes_moved / times['ep'].median / 1e9:.1f}",
                "ok" if trial.is_right else "fail",
            )
        )
    ran = time.perf_counter() - start - prepared
    print(f"\n{present.label(device)}: compiled or loaded the kernels in {prepared:.1f} s, then ran for {ran:.1f} s.")
    print("Times are medians, on a GPU its own; GB/s counts the bytes that have to be read and written.\n")
    output.table(_COLUMNS, rows, right=_COLUMNS[2:5])
    print()
    return right
