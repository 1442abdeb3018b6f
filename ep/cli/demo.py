"""Run every primitive on every device, on data as large as in real work, and check the results against NumPy."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Final

import numpy as np

from ep.bench.cases import (
    Case,
    add,
    batch_gather,
    bench_cases,
    binary,
    broadcast_matmul,
    cast,
    copy_bytes,
    cut,
    expand,
    fill,
    gather,
    join,
    matmul,
    numpy_fast_gelu,
    numpy_relu,
    one_hot,
    pad,
    permute,
    reduce,
    segment_sum,
    set_bytes,
    softmax,
    tensor_fill,
    transpose,
    unary,
    where,
)
from ep.bench.trial import Trial
from ep.cli import names, output, present, text
from ep.cli.coverage import Coverage, why_nothing_ran
from ep.cli.parser import CommandError, Parser
from ep.include.device import Device
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp

_SECONDS: Final = 0.06
_SIMULATED: Final = 2**10
"""The elements of a result on a simulated device."""
_COLUMNS: Final = ("what", "primitive", "ep", "NumPy", "GB/s", "check")

_TOKENS, _HIDDEN = 16_384, 768


def demo_cases() -> list[Case]:
    """Return the cases of the demo: the operations of a small language model on its data."""
    activations = (_TOKENS, _HIDDEN)
    return [
        gather("look up 16,384 words in a 30,522 x 384 embedding table", 30_522, 384, _TOKENS),
        batch_gather("pick 77 of 512 positions in each of 32 sentences", 32, 512, _HIDDEN, 77),
        expand("repeat 32 padding masks for 12 heads and 512 queries", (32, 1, 1, 512), (32, 12, 512, 512), np.bool_),
        unary("relu of 16,384 x 768 activations", UnaryOp.kRelu, activations, numpy_relu),
        unary("gelu (tanh form) of 16,384 x 768 activations", UnaryOp.kFastGelu, activations, numpy_fast_gelu, 1e-5),
        binary("add a bias of 768 to each row", BinaryOp.kAdd, activations, (_HIDDEN,), np.add),
        binary("scale each row by its own weight", BinaryOp.kMul, activations, (_TOKENS, 1), np.multiply),
        add("add 4 residual branches", 4, activations),
        cast("activations in float16", activations, np.float32, np.float16),
        transpose("activations transposed, in float64", *activations, np.float32, np.float64),
        where("drop masked activations", activations, activations, ()),
        fill("gradients of 0", activations),
        tensor_fill("a learned value everywhere", activations),
        one_hot("one-hot labels of 16,384 samples, 1,000 classes", _TOKENS, 1000),
        permute("heads before positions: 32 sentences, 512, 12, 64", (32, 512, 12, 64), (0, 2, 1, 3)),
        pad("a border of 1 around 64 images of 3 x 224 x 224", (64, 3, 224, 224), (0, 0, 1, 1), (0, 0, 1, 1)),
        cut("queries out of queries, keys and values", (_TOKENS, 3 * _HIDDEN), (0, 0), activations),
        join("2 x 384 features side by side", (_TOKENS, _HIDDEN // 2), 1),
        copy_bytes("keep a copy of the activations", activations),
        set_bytes("all bytes of a workspace", activations),
        matmul("multiply 2,048 activations by weights of 768 x 768", 2048, _HIDDEN, _HIDDEN),
        matmul("scores of 384 heads of 128 x 64 queries and keys", 128, 128, 64, batch_size=384, transpose_b=True),
        broadcast_matmul("weights of 768 x 768 for 32 sentences of 64", 32, 64, _HIDDEN, _HIDDEN),
        softmax("softmax of 4,096 rows of 512 scores", 4096, 512),
        softmax("log-softmax of 256 rows of 30,522 logits", 256, 30_522, log=True),
        softmax("gradient of a softmax of 4,096 rows of 512", 4096, 512, backward=True),
        softmax("gradient of a log-softmax of 256 rows of 30,522", 256, 30_522, log=True, backward=True),
        reduce("sum each of 16,384 rows of activations", ReduceOp.kSum, activations, (1,)),
        reduce("sum 16,384 rows of activations", ReduceOp.kSum, activations, (0,)),
        segment_sum("gradient of an embedding of 30,522 words", 4096, 30_522, 384),
        segment_sum("gradients of 8 embeddings of 512 words", 512, 512, 384, batch=8),
        binary("find activations above 0", BinaryOp.kGreaterThan, activations, (), np.greater, np.bool_),
    ]


def add_arguments(parser: Parser) -> None:
    """Add the options of `ep demo`."""
    parser.add_argument("--device", type=names.device_type, action="append", help="such as cpu (default: all present)")


def run(arguments: Namespace) -> int:
    """Run the demo; return 1 if a result is wrong, or nothing was run."""
    output.paragraph("Each primitive runs on data as large as real work has; every result is compared with NumPy's.")
    output.paragraph("The first run compiles what it needs and keeps it on disk, so that later runs start at once.")
    coverages = [Coverage(device, _cases(device)) for device in present.devices(arguments.device)]
    verdicts = [_run(coverage) for coverage in coverages]
    if why := why_nothing_ran(coverages):
        raise CommandError(why)
    print()
    if not all(verdicts):
        output.paragraph("Not all results agree with NumPy's: see what is marked 'fail'.")
        return 1
    output.paragraph(
        "All results agree with NumPy's. Next: 'ep list' shows everything there is, 'ep bench' times it, 'ep run' "
        "computes on your own .npy files."
    )
    return 0


def _cases(device: Device) -> list[Case]:
    """Return the cases of the demo; for a simulated device small ones, since the demo would take hours on it."""
    if not getattr(device, "simulated", False):
        return demo_cases()
    output.note(f"{present.label(device)} is simulated: its results have about {_SIMULATED:,} elements")
    return bench_cases(_SIMULATED)


def _run(coverage: Coverage) -> bool:
    """Run and print the cases that the device has primitives for; return whether all of them are right."""
    start = time.perf_counter()
    measured = coverage.run(_measure)
    first = sum(seconds for _, seconds, _ in measured)
    ran = time.perf_counter() - start - first
    if measured:
        print()
        output.paragraph(
            f"{coverage.label}: the first launches, which compile or load kernels, took {text.duration(first)}, "
            f"and the measurements {text.duration(ran)}."
        )
        output.paragraph("Times are medians, on a GPU its own; GB/s counts the bytes that have to be read and written.")
        print()
        output.table(_COLUMNS, [row for row, _, _ in measured], right=_COLUMNS[2:5])
    if left_out := coverage.in_words():
        print()
        output.paragraph(f"{left_out}.")
    for failure in coverage.failures:
        print(f"fail: {failure}")
    return all(right for _, _, right in measured) and not coverage.failures


def _measure(case: Case, trial: Trial) -> tuple[tuple[str, ...], float, bool]:
    """Return the row of a case, the seconds of its first launch, and whether it is right."""
    times = trial.time(_SECONDS)
    row = (
        case.name,
        names.short_name(case.primitive),
        *text.times(times["ep"].median, times["numpy"].median),
        f"{case.bytes_moved / times['ep'].median / 1e9:.1f}",
        "ok" if trial.is_right else "fail",
    )
    return row, trial.first_seconds, trial.is_right
