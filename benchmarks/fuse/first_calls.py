"""The first call of a fused function, and the calls until fusion saves time: `python -m benchmarks.fuse.first_calls`.

Each first call is in a process of its own, after a call of another map, which loads the code that all kernels share. It
is measured with an empty cache, for which both ways compile, and with the kernels on disk. Fusion saves time from the
number of calls on for which operators one by one, whose kernels are on disk, take as long as the compilation and the
calls of the fused function.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.fuse.expressions import EXPRESSIONS, Arrays
from benchmarks.quiet import wait_for_threads
from ep.cli import output

_SHAPES: Final = {2**12: (16, 256), 2**16: (128, 512), 2**20: (1024, 1024), 2**24: (4096, 4096)}
_MAP, _ROW, _PRODUCT = "map: Black-Scholes", "row kernel: layer norm", "product kernel: gelu(x w + b)"
_SECONDS: Final = 0.6


class First(NamedTuple):
    """A first call: seconds of the processor, and the kernels that were compiled and loaded."""

    seconds: float
    compiled: int
    loaded: int


def main() -> None:
    """Print both tables."""
    firsts, pays = [], []
    for kind in (_MAP, _ROW, _PRODUCT):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            cold, warm, alone = (_in_process(kind, *how) for how in (("ep", folder), ("ep", folder), ("ep.ops", other)))
        per_kernel = warm.seconds / max(warm.loaded, 1)
        cells = (cold.seconds, alone.seconds), (cold.compiled, alone.compiled)
        firsts.append(
            [kind, *(f"{one:.2f} ({other:.2f})" for one, other in cells[:1])]
            + [f"{one} ({other})" for one, other in cells[1:]]
            + [f"{warm.seconds * 1e3:.0f}", f"{per_kernel * 1e3:.1f}"]
        )
        pays.append([kind, *(_calls(kind, shape, cold.seconds) for shape in _SHAPES.values())])
    columns = ("function", "s", "kernels", "ms from disk", "ms a kernel")
    output.table(columns, firsts, "first call, and operators one by one in parentheses", right=columns[1:])
    columns = ("function", *(f"2^{size.bit_length() - 1}" for size in _SHAPES))
    output.table(columns, pays, "calls after which a compilation has paid, by elements", right=columns[1:])


def _arrays(kind: str, rows: int, columns: int) -> Arrays:
    rng = np.random.default_rng(20)
    if kind == _PRODUCT:
        arrays = [rng.normal(size=shape) for shape in ((rows, 64), (64, columns), (columns,))]
    else:
        arrays = EXPRESSIONS[kind.partition(": ")[2]].draw(rng, rows, columns)
    return [array.astype(np.float32) for array in arrays]


def _prepared(kind: str, way: str, arrays: Arrays) -> Callable[[], Any]:
    """Return the call of one way. It is made in the process that calls it."""
    import ep
    from benchmarks.fuse.libraries import libraries

    if kind != _PRODUCT:
        call: Callable[[], Any] = libraries((), 2)[way](EXPRESSIONS[kind.partition(": ")[2]], arrays)
        return call

    def layer(x: Any, w: Any, b: Any) -> Any:
        return ep.ops.gelu(ep.ops.add(ep.ops.matmul(x, w), b))

    fused = ep.fuse(layer) if way == "ep" else layer
    return lambda: fused(*arrays)


def _in_process(kind: str, way: str, folder: str) -> First:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_first, kind, way, folder).result()


def _first(kind: str, way: str, folder: str) -> First:
    os.environ["EP_CACHE_DIR"] = folder
    import ep
    from ep.cpu.compile.compiler import statistics

    arrays = _arrays(kind, 16, 256)
    ep.fuse(lambda x: x * 2.0 - x)(arrays[0])
    call = _prepared(kind, way, arrays)
    compiled, loaded, start = statistics.compiled, statistics.loaded, time.process_time()
    call()
    return First(time.process_time() - start, statistics.compiled - compiled, statistics.loaded - loaded)


def _calls(kind: str, shape: tuple[int, int], compiling: float) -> str:
    """Return the number of calls after which a function has saved the time of its compilation."""
    from ep.bench.timing import interleaved

    arrays = _arrays(kind, *shape)
    calls = {way: _prepared(kind, way, arrays) for way in ("ep", "ep.ops")}
    times = interleaved(calls, _SECONDS, wait_for_threads)
    one_by_one = times["ep.ops"].median if "ep.ops" in times else 10 * times["ep"].median
    saved = one_by_one - times["ep"].median
    return f"{compiling / saved:,.0f}" if saved > 0 else "never"


if __name__ == "__main__":
    main()
