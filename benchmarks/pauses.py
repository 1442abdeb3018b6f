"""Launches after a pause, as in most programs, compared with NumPy and PyTorch after the same pause.

Sleeping threads have to be woken, and the scheduler chooses their processors. So for each launch of ep, the number of
its threads, the number of processors on which they ended, and the time for which they were ready but not running are
recorded. A sample in which the host took a processor away is discarded. With `--repeat`, each run has a process of its
own, because the scheduler may treat all launches of one process alike.

ep and PyTorch also compute by turns, without a pause: each of the two finds the other one's threads, which spin. Their
times are compared with those beside the same calculation on one thread, which leaves the caches alike and no thread
that spins. They do so in the main thread, in another one, and in a forked process, each in a process of its own: the
threads of PyTorch's spin less if several threads compute with it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Final

from benchmarks.options import PAUSES
from benchmarks.pause_calls import PRODUCT, SET_THREADS, SIDE, Call, array, of_ep, of_numpy, of_torch
from benchmarks.quiet import wait_for_threads
from benchmarks.scheduling import Scheduled, Threads
from ep.cli import output

Found = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
"""For each op, pause and library: the numbers of `_measure`."""

_SAMPLES: Final = 25
_QUICK_SAMPLES: Final = 5
_TRIES: Final = 4  # for each sample, if the host takes processors away
_TURNS: Final = 20  # of a sample of two libraries that compute by turns
_ROUNDS: Final = 5  # of such samples, with and without spinning threads
_OTHERS: Final = ("relu", "matmul")  # what the other library computes
_THREAD, _FORK = ", in a thread", ", in a fork"
_SECONDS: Final = {"0 ms": 0.0, "1 ms": 1e-3, "20 ms": 2e-2, "100 ms": 0.1}
_AFTER_PRODUCT: Final = "a product of NumPy's"


def measure(arguments: Namespace) -> Found:
    """Return what `_measure` finds for each op, pause and library: of one process, or the medians of several."""
    with _busy_processes(arguments.busy):
        if arguments.repeat == 1:
            return _measure_here(arguments)
        runs = []
        with output.progress("processes", arguments.repeat) as advance:
            for _ in range(arguments.repeat):
                runs.append(_measure_in_a_process(arguments))
                advance(1)
    return _combined(runs)


def _measure_here(arguments: Namespace) -> Found:
    peers, threads = arguments.peers, arguments.threads
    a = array()
    libraries = {"ep": of_ep(a, threads)}
    if "numpy" in peers:
        libraries["numpy"] = of_numpy(a)
    if "torch" in peers and find_spec("torch") is not None:
        libraries["torch"] = of_torch(a, threads)
    pauses: dict[str, Call] = {
        name: (lambda seconds=seconds: time.sleep(seconds)) if seconds else (lambda: None)  # type: ignore[misc]
        for name, seconds in _SECONDS.items()
    }
    samples = _QUICK_SAMPLES if arguments.quick else _SAMPLES
    pauses[_AFTER_PRODUCT] = of_numpy(a)["matmul"]
    found = {
        op: {
            pause: {
                library: _measure(calls[op], before, samples) for library, calls in libraries.items() if op in calls
            }
            for pause, before in pauses.items()
        }
        for op in libraries["ep"]
    }
    for where in ("", _THREAD, *[_FORK] * ("fork" in get_all_start_methods())) if "torch" in libraries else ():
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            for op, beside, library, numbers in executor.submit(_by_turns, where, threads, samples).result():
                found[op][beside] = {library: numbers}
    return found


def _by_turns(where: str, threads: int, samples: int) -> list[tuple[str, str, str, dict[str, float]]]:
    """Return ops, what computes by turns with them, their libraries, and what `_measure_beside` finds.

    where: "" for this thread, or one of the others.
    """
    if where:
        executor: Executor = ThreadPoolExecutor(1) if where == _THREAD else ProcessPoolExecutor(1, get_context("fork"))
        with executor:
            found = executor.submit(_by_turns, "", threads, samples).result()
            return [(op, beside + where, library, numbers) for op, beside, library, numbers in found]
    a = array()
    libraries, found = {"ep": of_ep(a, threads), "torch": of_torch(a, threads)}, []
    for ours, theirs in (("ep", "torch"), ("torch", "ep")):
        for (op, call), other in product(libraries[ours].items(), _OTHERS):
            numbers = _measure_beside(call, libraries[theirs][other], SET_THREADS[theirs], threads, samples)
            found.append((op, f"{other} of {theirs}", ours, numbers))
    return found


def show(found: Found) -> None:
    """Print a table: microseconds of each library, and the scheduling of the threads of ep.

    After several processes: the median of their medians, and in parentheses the median of the slowest process.
    """
    libraries = list(
        dict.fromkeys(name for of_op in found.values() for of_pause in of_op.values() for name in of_pause)
    )
    rows = []
    for op, of_op in found.items():
        for pause, of_pause in of_op.items():
            ours = of_pause.get("ep")
            if ours is None or "quiet" in ours:
                continue
            times = [_times(of_pause[name]) if name in of_pause else "" for name in libraries]
            rows.append([op, pause, *times, f"{ours['together']:.0%}", f"{ours['waited'] * 1e6:.0f}"])
    columns = ("op", "after", *libraries, "on one processor", "waited")
    title = f"microseconds after a pause: float32, {SIDE:,} x {SIDE:,}, products {PRODUCT} x {PRODUCT}"
    output.table(columns, rows, title, right=columns[2:])
    _show_beside(found)


def _show_beside(found: Found) -> None:
    """Print a table of the libraries that computed by turns, if any did."""
    columns, rows = ("library", "op", "beside", "us", "quiet", "ratio"), []
    for op, of_op in found.items():
        for beside, of_pause in of_op.items():
            for library, times in of_pause.items():
                if "quiet" in times:
                    numbers = [f"{times[name] * 1e6:.1f}" for name in ("seconds", "quiet")]
                    rows.append([library, op, beside, *numbers, f"{times['seconds'] / times['quiet']:.2f}"])
    if rows:
        output.table(columns, sorted(rows), "by turns with another library, without a pause", right=columns[3:])


def _times(found: Mapping[str, float]) -> str:
    of_slowest = f" ({found['slowest'] * 1e6:.0f})" if "slowest" in found else ""
    return f"{found['seconds'] * 1e6:.0f}{of_slowest}"


@contextmanager
def _busy_processes(number: int) -> Iterator[None]:
    """Run processes that only compute, at ordinary priority."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(number):
            started.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _measure_in_a_process(arguments: Namespace) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "pauses.json"
        given = ["--only", PAUSES, "--isa", arguments.isa, "--threads", str(arguments.threads)]
        given += ["--peers", ",".join(arguments.peers), "--json", str(result), *["--quick"][: arguments.quick]]
        subprocess.run([sys.executable, "-m", "benchmarks", *given], check=True, stdout=subprocess.DEVNULL)
        found: Found = json.loads(result.read_text())[PAUSES]
        return found


def _combined(runs: Sequence[Found]) -> Found:
    """Return the medians of several processes, and as `slowest` the seconds of the slowest one."""

    def of(op: str, pause: str, library: str) -> dict[str, float]:
        found = [run[op][pause][library] for run in runs]
        medians = {name: statistics.median(one[name] for one in found) for name in found[0]}
        together = statistics.fmean(one["together"] for one in found)
        return medians | {"together": together, "slowest": max(one["seconds"] for one in found)}

    return {
        op: {pause: {library: of(op, pause, library) for library in of_pause} for pause, of_pause in of_op.items()}
        for op, of_op in runs[0].items()
    }


def _measure_beside(
    call: Call, other: Call, set_threads: Callable[[int], object], threads: int, wanted: int
) -> dict[str, float]:
    """Return what `_measure` finds for a call that alternates with a calculation of another library.

    quiet: the median of the seconds while the other library uses one thread. set_threads: sets the number of these.
    """
    quiet, beside = [], []
    for _ in range(_ROUNDS):
        set_threads(1)
        quiet.append(_measure(call, other, max(wanted // _ROUNDS, 1), _TURNS))
        set_threads(threads)
        beside.append(_measure(call, other, max(wanted // _ROUNDS, 1), _TURNS))
    medians = {name: statistics.median(one[name] for one in beside) for name in beside[0]}
    return medians | {"quiet": statistics.median(one["seconds"] for one in quiet)}


def _measure(call: Call, pause: Call, wanted: int, turns: int = 1) -> dict[str, float]:
    """Return the seconds of a call after a pause, and the scheduling of its threads, from samples without steal time.

    turns: the pauses and calls of a sample, whose time is their median.

    seconds: the median.
    together: the share of launches with several threads that all ended on one processor.
    waited: seconds that all threads of a launch were ready to run without a processor, the median.
    stolen: the number of discarded samples; none is discarded if all have steal time.
    """
    clean: list[tuple[float, Scheduled]] = []
    stolen: list[tuple[float, Scheduled]] = []
    wait_for_threads()
    call()
    while len(clean) < wanted and len(clean) + len(stolen) < _TRIES * wanted:
        before = Threads.now()
        taken = []
        for _ in range(turns):
            pause()
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
        scheduled = before.until(Threads.now())
        (stolen if scheduled.stolen else clean).append((statistics.median(taken), scheduled))
    samples = clean or stolen
    shared = [scheduled for _, scheduled in samples if scheduled.threads > 1]
    return {
        "seconds": statistics.median(seconds for seconds, _ in samples),
        "together": sum(one.processors == 1 for one in shared) / len(shared) if shared else 0.0,
        "waited": statistics.median(scheduled.waited for _, scheduled in samples),
        "stolen": len(stolen),
    }
