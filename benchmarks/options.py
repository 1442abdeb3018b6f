"""The command line of `python -m benchmarks`. It imports neither NumPy nor a peer, so that threads can be set first."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from benchmarks.instructions import HOST, ISAS, NOT_HELD

SETS: Final = (
    *("unary", "binary", "gather", "batch_gather", "transformer", "expand"),
    *("cast", "where", "add", "fill", "one_hot"),
    *("permute", "pad", "copy_nd", "memcpy", "memset", "matmul", "softmax", "reduce", "segment_sum"),
    *("scatter", "scan", "sort", "startup"),
)
MEMORY: Final = "memory"
"""The group of memory-bound cases, with arrays that fit in the caches and larger ones. Its cases are in other sets."""
PRODUCTS: Final = "products"
"""The group of products with the shapes of models, which have sizes of their own. Run only on request."""
ROWS: Final = "rows"
"""The group of softmaxes of rows of 31 to 50,257 columns. Run only on request."""
ODD: Final = "odd"
"""The group of sizes that are not powers of two. Run only on request."""
PLACE: Final = "place"
"""The group of moves and broadcasts of arrays at a cache line and behind it. Run only on request."""
LAUNCHES: Final = "launches"
"""The group of launches with new dims, and of operators on many arrays and on views. Run only on request."""
CALLS: Final = "calls"
"""The group of calls of `ep.ops` with few numbers. Run only on request."""
PAUSES: Final = "pauses"
"""The group of launches after a pause. Run only on request."""
CONV: Final = "conv"
"""The group of convolutions of models. Run only on request."""
NORMS: Final = "norms"
"""The group of normalisations, their gradients, and products of int64. Run only on request."""
FUSE: Final = "fuse"
"""The group of expressions that are computed in one kernel. Run only on request."""
ENCODER: Final = "encoder"
"""The group of the encoder of `examples/encoder`. Run only on request."""
TORCH: Final = "torch"
"""The group of PyTorch models. Run only on request."""
GROUPS: Final = {
    MEMORY: "what waits for memory alone",
    PRODUCTS: "products of models, whatever the sizes",
    ROWS: "softmaxes of rows of 31 to 50,257 columns",
    ODD: "sizes that are not powers of two",
    PLACE: "moves and broadcasts of arrays at a cache line, and behind it",
    LAUNCHES: "launches of new dims, a thousand arrays, and views",
    CALLS: "calls of ep.ops with 4,096 numbers",
    CONV: "convolutions of models",
    NORMS: "layer and group norms, their gradients, and products of int64, beside PyTorch",
    FUSE: "expressions in one kernel",
    ENCODER: "the encoder of examples/encoder beside PyTorch, ONNX Runtime and OpenVINO",
    TORCH: "PyTorch models by ep.torch beside eager mode and inductor",
    PAUSES: "launches after pauses of 0 to 100 ms, after a product of NumPy's, and by turns with PyTorch",
}
PEERS: Final = ("numpy", "torch", "numexpr", "jax", "onnxruntime", "openvino")
DTYPES: Final = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64")
_QUICK_DTYPES: Final = ("float32",)
_THREADS: Final = (
    *("EP_CPU_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"),
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"),
)
_HELP_ON_ISA: Final = "the instructions of every library: those of the machine, or no more than avx2; " + "; ".join(
    f"{name} is left out then: {why}" for name, why in NOT_HELD.items()
)

_HELP_ON_BEHIND: Final = "bytes from the start of a cache line to each array of a case; default: 16, as NumPy's arrays"

_HELP_ON_BUSY: Final = f"for {PAUSES}: this many processes compute meanwhile; default: 0"


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line and set the options that depend on `--quick`."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time the primitives on the CPU against the libraries a user might pick instead.",
    )
    comma = "comma-separated"
    parser.add_argument("--only", type=names((*SETS, *GROUPS)), default=SETS, metavar="SETS", help=_help_on_sets(comma))
    parser.add_argument("--cases", default="", metavar="REGEX", help="only cases whose name contains a match")
    parser.add_argument("--sizes", type=sizes, metavar="SIZES", help=f"{comma} numbers of elements, such as 1000,2^20")
    parser.add_argument("--dtypes", type=names(DTYPES), metavar="DTYPES", help=f"{comma}: {', '.join(DTYPES)}")
    parser.add_argument("--peers", type=names(PEERS), default=PEERS, help=f"{comma}: {', '.join(PEERS)}")
    parser.add_argument("--threads", type=_positive, default=_available(), help="of each library; default: %(default)s")
    parser.add_argument("--isa", choices=ISAS, default=HOST, help=_HELP_ON_ISA)
    parser.add_argument("--behind", type=_behind, default=16, metavar="BYTES", help=_HELP_ON_BEHIND)
    parser.add_argument("--quick", action="store_true", help="few cases and sizes, float32: under three minutes")
    parser.add_argument("--repeat", type=_positive, default=1, metavar="N", help="whole runs; ratios are their medians")
    parser.add_argument("--busy", type=_count, default=0, metavar="N", help=_HELP_ON_BUSY)
    parser.add_argument("--seconds", type=float, help="for each case; default: 0.5, quick 0.25")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw achieved bandwidth by size: .svg, .png")
    parser.add_argument(
        "--read", type=Path, nargs="+", metavar="FILE", help="measure nothing: put together what --json wrote before"
    )
    parser.add_argument("--list", action="store_true", help="print the cases and measure nothing")
    arguments = parser.parse_args(given)
    if arguments.busy and arguments.only != (PAUSES,):
        parser.error(f"argument --busy: is {arguments.busy}, but only --only {PAUSES} uses it")
    arguments.dtypes = arguments.dtypes or (_QUICK_DTYPES if arguments.quick else DTYPES)
    if arguments.isa != HOST:
        arguments.peers = tuple(name for name in arguments.peers if name not in NOT_HELD)
    if arguments.seconds is None:
        arguments.seconds = 0.25 if arguments.quick else 0.5
    return arguments


def _help_on_sets(comma: str) -> str:
    groups = ", ".join(f"{name} ({what})" for name, what in GROUPS.items())
    return f"{comma}: {', '.join(SETS)} (default: all of these), {groups}"


def set_threads(threads: int) -> None:
    """Set the number of threads of every library that is imported later."""
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))


def _available() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class names:
    """A reader of a comma-separated list of known names."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self._known = known

    def __call__(self, text: str) -> tuple[str, ...]:
        found = tuple(part.strip() for part in text.split(","))
        if unknown := [name for name in found if name not in self._known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(self._known)}")
        return found


def sizes(text: str) -> tuple[int, ...]:
    """Read a comma-separated list of sizes, including powers such as 2^20."""
    found = []
    for part in text.split(","):
        base, _, exponent = part.partition("^")
        try:
            found.append(int(base) ** int(exponent or 1))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part!r} is not a number of elements, such as 1000 or 2^20") from None
        if found[-1] < 1:
            raise argparse.ArgumentTypeError(f"{part!r}: at least one element")
    return tuple(found)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return int(text)


def _behind(text: str) -> int:
    if not text.isdecimal() or int(text) not in range(0, 64, 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not 0, 16, 32 or 48")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)
