"""The command line of `python -m benchmarks.gpu`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from benchmarks.options import DTYPES, names, sizes
from benchmarks.options import SETS as SETS_OF_CPU

FORMS: Final = "forms"
ROWS: Final = "rows"
SETS: Final = (FORMS, ROWS, *SETS_OF_CPU[:-1])
"""The forms of kernels; rows, vocabularies and frequent ids; and all sets of the CPU but the start of the program."""
PEERS: Final = ("torch", "cupy")
PARTS: Final = ("tests", "times")


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description="Test the CUDA device on this machine's GPU, and time its primitives against PyTorch and CuPy.",
    )
    comma = "comma-separated"
    parser.add_argument("part", choices=PARTS, help="the tests, or the times")
    parser.add_argument(
        "--dry-run", action="store_true", help="without a GPU: run everything small from PTX, and report no time"
    )
    parser.add_argument("--minutes", type=_positive, default=9.0, metavar="N", help="for everything; default: 9")
    parser.add_argument("--only", type=names(SETS), default=SETS, metavar="SETS", help=f"{comma}: {', '.join(SETS)}")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only cases whose name contains a match")
    parser.add_argument("--sizes", type=sizes, metavar="SIZES", help=f"{comma} numbers of elements, such as 2^20")
    parser.add_argument("--dtypes", type=names(DTYPES), metavar="DTYPES", help=f"{comma}: {', '.join(DTYPES)}")
    parser.add_argument("--peers", type=names(PEERS), default=PEERS, help=f"{comma}: {', '.join(PEERS)}")
    parser.add_argument("--seconds", type=_positive, default=0.15, help="of timing for each case; default: 0.15")
    parser.add_argument("--json", type=Path, metavar="FILE", help="default: benchmarks/results/gpu-DEVICE-DATE.json")
    parser.add_argument("--table", action="store_true", help="print every case, too")
    return parser.parse_args(given)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
