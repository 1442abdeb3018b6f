"""The command line of `python -m benchmarks.gpu`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from benchmarks.options import DTYPES, names, sizes
from benchmarks.options import SETS as SETS_OF_CPU

SETS: Final = SETS_OF_CPU[:-1]  # all sets except the start of the program
PEERS: Final = ("torch", "cupy")


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description="Test the CUDA device on this machine's GPU, and time its primitives against PyTorch and CuPy.",
    )
    comma = "comma-separated"
    parser.add_argument("--minutes", type=_positive, default=9.0, metavar="N", help="for everything; default: 9")
    parser.add_argument("--no-tests", dest="tests", action="store_false", help="leave out the test suite")
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
