"""Run every primitive on every device, on data as large as in real work, and check the results against NumPy.

Where no kernels are on disk yet, processes compile those of the demo first, on all processors.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np

from ep.bench import numpy_ways
from ep.bench.builders import batch_gather, binary, expand, gather, unary
from ep.bench.builders_map import add, cast, fill, one_hot, tensor_fill, transpose, where
from ep.bench.builders_move import copy_bytes, cut, join, pad, permute, set_bytes
from ep.bench.builders_product import broadcast_matmul, matmul
from ep.bench.builders_reduce import reduce, scan, scatter, segment_sum, softmax, sort
from ep.bench.builders_trees import tree_ensemble
from ep.bench.case import Case, MatmulWork
from ep.bench.cases import bench_cases
from ep.bench.trial import Trial, set_up
from ep.cli import kernel_caches, names, output, present, text
from ep.cli.case_coverage import Coverage, why_nothing_ran
from ep.cli.parser import CommandError, Parser
from ep.cli.warm import processes
from ep.common.processors import available_threads
from ep.include.device import Device
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp

_SECONDS: Final = 0.03
_SIMULATED: Final = 2**10
"""The elements of a result on a simulated device."""

_TOKENS, _HIDDEN = 4096, 768


def demo_cases() -> list[Case]:
    """Return the cases of the demo: the operations of a small language model on its data."""
    activations = (_TOKENS, _HIDDEN)
    return [
        gather("look up 4,096 words in a 30,522 x 384 embedding table", 30_522, 384, _TOKENS),
        batch_gather("pick 77 of 512 positions in each of 8 sentences", 8, 512, _HIDDEN, 77),
        expand("repeat 8 padding masks for 12 heads and 512 queries", (8, 1, 1, 512), (8, 12, 512, 512), np.bool_),
        unary("relu of 4,096 x 768 activations", UnaryOp.kRelu, activations, numpy_ways.relu),
        unary("fast_gelu of 4,096 x 768 activations", UnaryOp.kFastGelu, activations, numpy_ways.fast_gelu, 1e-5),
        binary("add a bias of 768 to each row", BinaryOp.kAdd, activations, (_HIDDEN,), np.add),
        binary("scale each row by its own weight", BinaryOp.kMul, activations, (_TOKENS, 1), np.multiply),
        add("add 4 residual branches", 4, activations),
        cast("activations in float16", activations, np.float32, np.float16),
        transpose("activations transposed, in float64", *activations, np.float32, np.float64),
        where("drop masked activations", activations, activations, ()),
        fill("gradients of 0", activations),
        tensor_fill("a learned value everywhere", activations),
        one_hot("one-hot labels of 4,096 samples, 1,000 classes", _TOKENS, 1000),
        permute("heads before positions: 8 sentences, 512, 12, 64", (8, 512, 12, 64), (0, 2, 1, 3)),
        pad("a border of 1 around 16 images of 3 x 224 x 224", (16, 3, 224, 224), (0, 0, 1, 1), (0, 0, 1, 1)),
        cut("queries out of queries, keys and values", (_TOKENS, 3 * _HIDDEN), (0, 0), activations),
        join("2 x 384 features side by side", (_TOKENS, _HIDDEN // 2), 1),
        copy_bytes("keep a copy of the activations", activations),
        set_bytes("all bytes of a workspace", activations),
        matmul("multiply 512 activations by weights of 768 x 768", 512, _HIDDEN, _HIDDEN),
        matmul("scores of 96 heads of 128 x 64 queries and keys", 128, 128, 64, batch_size=96, transpose_b=True),
        broadcast_matmul("weights of 768 x 768 for 8 sentences of 64", 8, 64, _HIDDEN, _HIDDEN),
        softmax("softmax of 4,096 rows of 512 scores", 4096, 512),
        softmax("log-softmax of 64 rows of 30,522 logits", 64, 30_522, log=True),
        softmax("gradient of a softmax of 4,096 rows of 512", 4096, 512, backward=True),
        softmax("gradient of a log-softmax of 64 rows of 30,522", 64, 30_522, log=True, backward=True),
        reduce("sum each of 4,096 rows of activations", ReduceOp.kSum, activations, (1,)),
        reduce("sum 4,096 rows of activations", ReduceOp.kSum, activations, (0,)),
        segment_sum("gradient of an embedding of 30,522 words", 1024, 30_522, 384),
        segment_sum("gradients of 8 embeddings of 512 words", 512, 512, 384, batch=8),
        scatter("put 4,096 rows of activations in another order", _TOKENS, _HIDDEN),
        scan("running sums of 4,096 rows of activations", activations, 1),
        sort("the 5 best of 30,522 words, for 64 tokens", 64, 30_522, 5),
        tree_ensemble("scores of 4,096 rows by 100 trees of depth 6", _TOKENS, 28, 100, 6),
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
    for coverage in coverages:
        _compile_ahead(coverage)
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


def _compile_ahead(coverage: Coverage) -> None:
    """Compile the kernels of the cases in processes, one for each processor, if no kernels are on disk but could be."""
    device, jobs = coverage.device, available_threads()
    device_type = device.device_type()
    there = kernel_caches.on_disk([device_type]).get(device_type.tag)
    if jobs == 1 or getattr(device, "simulated", False) or there is None or there.files or there.why_unusable:
        return
    print()
    output.paragraph(f"{coverage.label}: no kernels are on disk yet; {jobs} processes compile those of the demo.")
    try:
        with output.progress("cases are compiled", len(coverage.cases)) as advance, processes(jobs) as pool:
            futures = [pool.submit(_launch_once, device_type, device.device_index(), one) for one in _alike()]
            for done in as_completed(futures):
                advance(done.result())
    except BrokenProcessPool as error:
        output.note(f"a process that compiled kernels died: {error}")


def _alike() -> list[list[int]]:
    """Return the numbers of the cases in groups that share kernels; products, which compile longest, come first."""
    groups: dict[type, list[int]] = {MatmulWork: []}
    for number, case in enumerate(demo_cases()):
        groups.setdefault(type(case.work), []).append(number)
    return [group for group in groups.values() if group]


def _launch_once(device_type: DeviceType, device_index: int, numbers: Sequence[int]) -> int:
    """Launch cases of the demo in this process, so that their kernels are on disk; return how many there are.

    Errors are left to the demo, in which they occur again.
    """
    device, cases = DeviceManagerRegistry.GetDevice(device_type, device_index), demo_cases()
    for number in numbers:
        with suppress(Exception):
            set_up(cases[number], device, names.factory_of(cases[number].primitive))
    return len(numbers)


def _run(coverage: Coverage) -> bool:
    """Run and print the cases that the device has primitives for; return whether all of them are right."""
    start = time.perf_counter()
    measured = coverage.run(_measure)
    first = sum(one.first for one in measured)
    ran = time.perf_counter() - start - first
    if measured:
        print()
        output.paragraph(
            f"{coverage.label}: the first launches, which compile or load kernels, took {text.duration(first)}, "
            f"and the measurements {text.duration(ran)}."
        )
        output.paragraph("Times are medians, on a GPU its own; GB/s counts the bytes that have to be read and written.")
        print()
        _print(measured)
    if left_out := coverage.in_words():
        print()
        output.paragraph(f"{left_out}.")
    for failure in coverage.failures:
        print(f"fail: {failure}")
    return all(one.is_right for one in measured) and not coverage.failures


class _Measured(NamedTuple):
    """A case, the seconds of its first launch, the median seconds of ep and of NumPy, and whether it is right."""

    case: Case
    first: float
    ours: float
    numpy: float
    is_right: bool


def _measure(case: Case, trial: Trial) -> _Measured:
    times = trial.time(_SECONDS)
    return _Measured(case, trial.first_seconds, times["ep"].median, times["numpy"].median, trial.is_right)


def _print(measured: Sequence[_Measured]) -> None:
    unit, times = text.column([seconds for one in measured for seconds in (one.ours, one.numpy)])
    rows = [
        (
            one.case.name,
            names.short_name(one.case.primitive),
            *pair,
            f"{one.case.bytes_moved / one.ours / 1e9:.1f}",
            "ok" if one.is_right else "fail",
        )
        for one, pair in zip(measured, zip(times[::2], times[1::2], strict=True), strict=True)
    ]
    columns = ("what", "primitive", f"ep, {unit}", f"NumPy, {unit}", "GB/s", "check")
    output.table(columns, rows, right=columns[2:5])
