"""Measures a machine completely: `python -m benchmarks.record NAME`.

It runs the groups of the benchmark one after another, with the instructions of the machine and with no more than AVX2.
It writes benchmarks/results/NAME/host.json and avx2.json, and draws docs/performance.png. It takes about an hour, in
which nothing else should run. `--isa` and `--only` measure a part again; the rest is taken from build/benchmarks.
`python -m tools.performance_table` then writes the documents.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.instructions import HOST, ISAS
from benchmarks.options import ENCODER, FUSE, ODD, PLACE, PRODUCTS, ROWS, SETS, names

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "benchmarks/results"
SCRATCH: Final = ROOT / "build/benchmarks"
PICTURE: Final = ROOT / "docs/performance.png"

_STARTUP: Final = "startup"
_PRIMITIVES: Final = ",".join(name for name in SETS if name != _STARTUP)
_PICTURE: Final = "picture"
CHAPTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "primitives": (
        *("--only", _PRIMITIVES, "--dtypes", "float32", "--sizes", "2^16,2^20,2^24"),
        *("--seconds", "0.03", "--repeat", "2"),
    ),
    ODD: (
        *("--only", f"{ODD},{PLACE}", "--dtypes", "float32,float64,bfloat16,int8"),
        *("--seconds", "0.05", "--repeat", "5", "--peers", "numpy,torch,onnxruntime"),
    ),
    PRODUCTS: (
        *("--only", PRODUCTS, "--dtypes", "float32,float64", "--peers", "numpy,torch,onnxruntime"),
        *("--seconds", "0.1", "--repeat", "3"),
    ),
    ROWS: (
        *("--only", ROWS, "--dtypes", "float32,float64,float16,bfloat16", "--peers", "torch"),
        *("--seconds", "0.02", "--repeat", "3"),
    ),
    ENCODER: ("--only", ENCODER, "--seconds", "3"),
    _STARTUP: ("--only", _STARTUP),
    FUSE: ("--only", FUSE, "--dtypes", "float32,bfloat16", "--seconds", "0.1"),
    "types": (
        *("--only", _PRIMITIVES, "--dtypes", "float64,bfloat16,int8", "--sizes", "2^20", "--seconds", "0.01"),
        *("--peers", "numpy,torch"),
    ),
    _PICTURE: (
        *(
            "--only",
            _PRIMITIVES,
            "--dtypes",
            "float32",
            "--sizes",
            "2^12,2^14,2^18,2^22,2^26",
            "--peers",
            "numpy,torch",
        ),
        *("--seconds", "0.02", "--cases", "^(relu|gelu|add, same shape|alternating axes|matrix|rows of 3072 B)$"),
    ),
}
"""The options of the benchmark for each part of a record."""


def main(given: list[str] | None = None) -> int:
    """Measure and write; return 1 if a part failed. The other parts are measured in any case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("name", type=_name, help="of the machine: the folder in benchmarks/results")
    parser.add_argument("--isa", type=names(ISAS), default=ISAS, help="comma-separated; default: host,avx2")
    parser.add_argument("--only", type=names((*CHAPTERS,)), default=(*CHAPTERS,), help=f"of {', '.join(CHAPTERS)}")
    arguments = parser.parse_args(given)
    folder = RESULTS / arguments.name
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for isa in arguments.isa:
        parts = SCRATCH / arguments.name / isa
        parts.mkdir(parents=True, exist_ok=True)
        for chapter in arguments.only:
            if chapter == _PICTURE and isa != HOST:
                continue
            start = time.perf_counter()
            if _benchmark("--isa", isa, *CHAPTERS[chapter], "--json", str(parts / f"{chapter}.json")):
                failed = True
                continue
            print(f"{isa}, {chapter}: {time.perf_counter() - start:.0f} s", flush=True)
            measured = [str(parts / f"{one}.json") for one in CHAPTERS if (parts / f"{one}.json").exists()]
            picture = ("--plot", str(PICTURE)) if chapter == _PICTURE else ()
            if _benchmark("--read", *measured, "--json", str(folder / f"{isa}.json"), *picture):
                failed = True
    return int(failed)


def _benchmark(*options: str) -> int:
    """Run the benchmark in a process of its own; show its output if it fails."""
    done = subprocess.run([sys.executable, "-m", "benchmarks", *options], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(f"{done.stdout}{done.stderr}it ended with {done.returncode}", file=sys.stderr)
    return done.returncode


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: words of small letters and digits with hyphens between are expected"
        )
    return text


if __name__ == "__main__":
    sys.exit(main())
