"""The gain of the additional forms of the CPU's elementary functions: with tables, and for ordinary elements.

`python -m benchmarks.forms [--only log] [--seconds 1] [--json FILE]` measures each function with the form and without
it, in turns, in one thread, on ordinary elements: with all instructions of the processor, and in a second process
without AVX-512. The gain is the processor time without the form, divided by that with it, less 1: the median of many.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.machine import describe

COUNTS: Final = (2**14, 2**20)
_PAIRS: Final = 21
_PRECISIONS: Final = {"float32": "SINGLE", "float64": "FULL"}
_RANGES: Final = {
    **{"acosh": (1.0, 100.0), "atanh": (-0.99, 0.99), "asinh": (-15.0, 15.0), "log1p": (0.0, 100.0)},
    **{"sin": (-1000.0, 1000.0), "cos": (-1000.0, 1000.0), "tan": (-1000.0, 1000.0), "rsqrt": (0.1, 100.0)},
    **{"log": (0.1, 100.0), "log2": (0.1, 100.0), "log10": (0.1, 100.0), "pow": (0.1, 10.0)},
    **{"lgamma": (0.1, 50.0), "digamma": (0.1, 50.0), "trigamma": (0.1, 50.0)},
}
"""The range of the elements, all of them ordinary; from -4 to 4 for functions that are not listed."""


class Gain(NamedTuple):
    """The gain of a form over another at each of `COUNTS`; avx512: whether it was measured with AVX-512."""

    name: str
    arithmetic: str
    without: str
    form: str
    avx512: bool
    gains: tuple[float, ...]


def measure(only: str | None, seconds: float) -> Iterator[Gain]:
    """Measure the forms that this processor has, of the function called `only`, or of all if it is None."""
    from ep.cpu.kernels.math_library import Precision
    from ep.cpu.kernels.ordinary import OPS_OF_ONE_FUNCTION, ordinary_form
    from ep.cpu.vector_math.lookup import has_register_tables
    from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64

    tables = has_register_tables()
    ops = {name: op for op, name in OPS_OF_ONE_FUNCTION.items()}
    for arithmetic, names in (("float32", FLOAT32), ("float64", FLOAT64)):
        real_type = np.dtype(arithmetic).type
        for name, forms in names.items():
            function, its_ordinary = forms.of_this_processor()
            if only not in (None, name) or (function is forms.computed and its_ordinary is None):
                continue
            kernels = {"computed": _kernel(name, real_type, forms.computed)}
            if function is not forms.computed:
                kernels["tabled"] = _kernel(name, real_type, function)
            if name in ops and (its := ordinary_form(ops[name], Precision[_PRECISIONS[arithmetic]])):
                kernels["ordinary"] = _kernel(name, real_type, function, its_ordinary, its.exceeds)
            for without, form in combinations(kernels, 2):
                gains = _gains(name, real_type, kernels[without], kernels[form], seconds)
                yield Gain(name, arithmetic, without, form, tables, gains)


def _kernel(name: str, real_type: Any, function: Any, ordinary: Any = None, exceeds: Any = None) -> int:
    """Return the address of the row kernel of a function, with a form for ordinary elements if one is given."""
    from ep.cpu.compile.memory import loader
    from ep.cpu.engine.map.inner_loop import RowFunctions, row_kernel
    from ep.include import as_data_type

    data_type = as_data_type(real_type)
    src_types, interleaved = (data_type,) * (1 + _has_two(name)), bool(ordinary) or name != "pow"
    functions = RowFunctions(src_types, data_type, ordinary or function, interleaved=interleaved)
    if ordinary:
        functions = functions._replace(apply_any=function, exceeds=exceeds(loader(data_type), real_type))
    return row_kernel(f"forms.{name}.{data_type.name}", functions)


def _has_two(name: str) -> bool:
    """Return whether a function has two operands."""
    return name == "pow" or name.endswith("_backward")


def _gains(name: str, real_type: Any, without: int, with_it: int, seconds: float) -> tuple[float, ...]:
    found = []
    for count in COUNTS:
        low, high = _RANGES.get(name, (-4.0, 4.0))
        x = np.random.default_rng(0).uniform(low, high, count).astype(real_type)
        y = np.empty_like(x)
        calls = [_call(kernel, name, x, y) for kernel in (without, with_it)]
        results = []
        for call in calls:
            call()
            results.append(y.copy())
        if not np.allclose(*results, rtol=1e-5, atol=1e-6):
            raise AssertionError(f"the forms of {name} differ by {np.abs(results[0] - results[1]).max()}")
        found.append(_ratio(*calls, seconds) - 1)
    return tuple(found)


def _call(kernel: int, name: str, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Callable[[], None]:
    """Return a call of a row kernel on x, which is both operands of a function of two."""
    from ep.cpu.engine.map.inner_loop import InnerContext
    from ep.cpu.shared.context import Context

    state, words = np.zeros(64, np.int64), np.zeros(max(InnerContext.num_words, Context.num_words), np.int64)
    fields = InnerContext if _has_two(name) else Context
    words[fields.dst], words[fields.state] = y.ctypes.data, state.ctypes.data
    if _has_two(name):
        words[InnerContext.src :][:2], words[InnerContext.step :][:2] = x.ctypes.data, 1
        words[InnerContext.dst_size] = x.itemsize
    else:
        words[Context.sources] = x.ctypes.data
    task = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(kernel)
    first, kept = int(_has_two(name)), (state, words, x, y)

    def call() -> None:
        task(kept[1].ctypes.data, first, x.size)

    return call


def _ratio(slow: Callable[[], None], fast: Callable[[], None], seconds: float) -> float:
    """Return the time of one call over that of another: the median of many pairs, which other load affects equally."""
    ratios: list[float] = []
    end = time.perf_counter() + seconds
    while len(ratios) < _PAIRS or time.perf_counter() < end:
        times = [time.thread_time()]
        for call in (slow, fast, slow) if len(ratios) % 2 else (fast, slow, fast):
            call()
            times.append(time.thread_time())
        one, between, other = (after - before for before, after in pairwise(times))
        ratio = 2 * between / (one + other)  # the calls before and after estimate its time
        ratios.append(1 / ratio if len(ratios) % 2 else ratio)
    return statistics.median(ratios)


def _show(gain: Gain) -> None:
    processor, gains = "AVX-512" if gain.avx512 else "AVX2", "".join(f"{each:8.0%}" for each in gain.gains)
    print(f"{gain.name:20}{gain.arithmetic:9}{processor:8}{gains}  {gain.form} over {gain.without}", flush=True)


def main() -> int:
    """Print the gains, and write them to a file; return the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.forms", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="this function alone")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each form and size (%(default)s)")
    parser.add_argument("--json", type=Path, help="the file that the gains are written to")
    parser.add_argument("--lines", action="store_true", help="print JSON, of this process alone")
    asked = parser.parse_args()
    if asked.lines:
        for gain in measure(asked.only, asked.seconds):
            print(json.dumps(gain._asdict()), flush=True)
        return 0
    rows = []
    command = [sys.executable, "-m", "benchmarks.forms", "--lines", "--seconds", str(asked.seconds)]
    command += ["--only", asked.only] if asked.only else []
    for processor in ({}, {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""}):
        with subprocess.Popen(command, env={**os.environ, **processor}, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                rows.append(json.loads(line))
                _show(Gain(**rows[-1]))
        if process.returncode:
            return process.returncode
    if asked.json:
        asked.json.write_text(json.dumps({**describe(1), "counts": COUNTS, "gains": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
