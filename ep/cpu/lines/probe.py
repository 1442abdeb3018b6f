"""Measurement of the size from which launches use non-temporal stores: the calibration of this processor.

A measurement is a launch and another one that reads its results: lines stored non-temporally must be fetched again by
their next reader. Launches with non-temporal stores alternate with the same launches with ordinary stores. The
least time that any process has measured is used for each, since other activity of the machine only adds time.

A host may move virtual processors from one last-level cache to two, and back seconds later. On a Zen 4, ordinary stores
to 32 MiB took 0.5 ms on one last-level cache and 0.6 to 1.9 ms on two, non-temporal stores 1.1 ms on one and 0.8 to 1.3
ms on two. So launches that the caches may hold, and those that only write, use non-temporal stores only for a clear
gain.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import loader, storer
from ep.cpu.lines.streaming import StreamContext, stream
from ep.cpu.machine.caches import last_level_caches
from ep.cpu.machine.calibration import KINDS, NEVER, Calibration, StoredCalibration, everywhere, least_size
from ep.cpu.shared.context import NONE, Context, Source
from ep.cpu.shared.state import LaunchSettings, LaunchState, State
from ep.cpu.threads.parallel import run
from ep.include.data_type import DataType

_SIZE: Final = 8  # bytes of an element
_READ: Final = KINDS  # instead of the number of sources: the launch reads dst, and writes nothing
_AHEAD: Final = 4096  # bytes of dst that tiles prefetch: some processors do not prefetch across page boundaries
_SECONDS: Final = 0.12  # after these no further round begins
_ROUNDS: Final = 4  # per process, at most
_PROCESSES: Final = 4  # number of processes that measure
_MOST_BYTES: Final = 2**28  # at most, in a measurement
_SIZES: Final = (0.5, 1.0, 2.0)  # bytes that a launch reads and writes, in units of the last-level caches
_CLEARLY: Final = 0.75  # of the time with ordinary stores: a clear gain
_BEYOND: Final = 1.1  # of that time, if the caches cannot hold it: larger launches gain more
_AHEAD_WORTH: Final = 0.95  # of the time without prefetching
_READ_AT_ONCE: Final = 0.5  # the part of the results that the next launch reads
_THROUGH, _LINES, _TILES = range(3)
_WAYS: Final = (_THROUGH, _LINES, _TILES)

NUM_TIMES: Final = 2 + len(_SIZES) * KINDS * len(_WAYS)
"""The number of launches that a round measures."""

_load, _store = loader(DataType.kInt64), storer(DataType.kInt64)


def _probe(context: Context, begin: int, end: int) -> None:
    dst, num_sources = context.dst, context.num_sources
    a, b = context.sources[0].data, Int64.at(context.sources[1].data)
    if num_sources == 0:
        for i in range(begin, end):
            _store(dst, i, i)
    elif num_sources == 1:
        for i in range(begin, end):
            _store(dst, i, _load(a, i) + 1)
    elif num_sources == 2:
        for i in range(begin, end):
            _store(dst, i, _load(a, i) + _load(b, i))
    else:
        total = 0
        for i in range(begin, end):
            total += _load(dst, i)
        b[0] = total


def _run(state: State, task: int, context: Context, count: int) -> None:
    run(state, task, context, count, 1)


@cache
def tasks() -> tuple[int, int, int]:
    """Return the measured task, its twin with non-temporal stores, and the task that shares it among threads."""
    tasks = (compile_task("probe", _probe, light=True), compile_task("probe", _probe, streaming=True))
    return (*tasks, compile_task("probe.run", _run, 4))


def measure(
    settings: np.ndarray[Any, Any], share: int, num_threads: int, kept: StoredCalibration | None = None
) -> StoredCalibration:
    """Measure this processor for launches on `num_threads` threads, in 0.2 s.

    settings: a copy of the device's; kept: the results of earlier processes.
    """
    caches = min(last_level_caches(num_threads), _MOST_BYTES // 2)
    try:
        probe = _Probe(settings, share, int(max(_SIZES) * caches))
    except MemoryError:
        return StoredCalibration(everywhere(NEVER))
    times, again = (kept.times, kept.again) if kept else ((), _PROCESSES)
    probe.seconds(_TILES, 1, caches)  # from here on the threads are awake
    end = time.perf_counter() + _SECONDS
    for _ in range(_ROUNDS):
        found = probe.times(caches, _fetched_ahead(times))
        times = tuple(map(min, times, found) if len(times) == len(found) else found)
        if time.perf_counter() > end:
            break
    return StoredCalibration(decided(times, caches, least_size(num_threads)), times, again - 1)


def decided(times: Sequence[float], caches: int, least: int) -> Calibration:
    """Return the calibration that follows from times, in the order of `_Probe.times`.

    caches: the unit of sizes, in bytes; least: the smallest size at which non-temporal stores may begin.
    """
    measured = np.array(times[2:]).reshape(len(_SIZES), KINDS, len(_WAYS))
    lines, tiles = (
        tuple(
            _first(measured[:, kind, way] / measured[:, kind, _THROUGH], kind, caches, least) for kind in range(KINDS)
        )
        for way in (_LINES, _TILES)
    )
    return Calibration(lines, tiles, _fetched_ahead(times))


def _fetched_ahead(times: Sequence[float]) -> int:
    return _AHEAD if times and times[1] < _AHEAD_WORTH * times[0] else 0


def _first(ratios: Sequence[float], kind: int, caches: int, least: int) -> int:
    """Return the bytes from which non-temporal stores are used: the choice with the least total cost over all sizes.

    Between two sizes, it is their geometric mean. ratios: at each size, the time with non-temporal stores over that
    with ordinary ones.
    """
    worth = [_CLEARLY if kind == 0 or size <= 1 else _BEYOND for size in _SIZES]
    costs = [math.log(ratio / most) for ratio, most in zip(ratios, worth, strict=True)]
    first = min(range(len(costs), -1, -1), key=lambda size: sum(costs[size:]))
    if first == len(costs):
        return NEVER
    return least if first == 0 else int(caches * math.sqrt(_SIZES[first - 1] * _SIZES[first]))


class _Probe:
    """Launches to measure: their memory and context words."""

    def __init__(self, settings: np.ndarray[Any, Any], share: int, num_bytes: int) -> None:
        self._settings = settings
        self._state = LaunchState(State, ())
        self._state.set(settings=settings.ctypes.data, share=share)
        self._task, self._twin, run_task = tasks()
        words = (ctypes.c_int64,) * 4
        self._run: Callable[..., None] = ctypes.PYFUNCTYPE(None, *words)(run_task)
        # pages that were never written, and lines of zeros, are faster than any others
        self._memory = np.arange(num_bytes // _SIZE)
        self._sink = np.zeros(1, np.int64)
        self._context = np.zeros(Context.num_words, np.int64)
        self._stream = np.zeros(StreamContext.num_words, np.int64)

    def times(self, caches: int, ahead: int) -> list[float]:
        """Return the seconds of one round. The first two are a copy by tiles, without and with prefetching.

        Then, for each size and kind: with ordinary stores, with non-temporal ones in lines, and by tiles, whose
        operands are prefetched by `ahead`. The launch with ordinary stores runs twice: before its first run, the
        caches hold data of the previous launch.
        """
        found = []
        for fetched in (0, _AHEAD):
            self._settings[LaunchSettings.ahead] = fetched
            found.append(self.seconds(_TILES, 1, caches))
        self._settings[LaunchSettings.ahead] = ahead
        for size in _SIZES:
            for kind in range(KINDS):
                self.seconds(_THROUGH, kind, int(size * caches))
                found += [self.seconds(way, kind, int(size * caches)) for way in _WAYS]
        return [float(f"{seconds:.4g}") for seconds in found]

    def seconds(self, way: int, kind: int, num_bytes: int) -> float:
        """Return the seconds of a launch that reads `kind` buffers and writes one, plus those of reading a part of it.

        num_bytes: of all buffers.
        """
        count = num_bytes // _SIZE // (kind + 1)
        self._set_context(kind, count, self._twin if way == _LINES else NONE)
        start = time.perf_counter()
        if way == _THROUGH:
            self._call(self._task, self._context, count)
        else:
            self._call(stream(), self._stream, count)
        written = time.perf_counter()
        self._set_context(_READ, count, NONE)
        self._call(self._task, self._context, count)
        return written - start + _READ_AT_ONCE * (time.perf_counter() - written)

    def _call(self, task: int, context: np.ndarray[Any, Any], count: int) -> None:
        self._run(self._state.words.ctypes.data, task, context.ctypes.data, count)

    def _set_context(self, num_sources: int, count: int, streaming: int) -> None:
        buffers = [self._memory.ctypes.data + _SIZE * count * place for place in range(KINDS)]
        if num_sources == _READ:
            buffers[2] = self._sink.ctypes.data
        words = self._context
        words[Context.dst], words[Context.state] = buffers[0], self._state.words.ctypes.data
        words[Context.streaming] = streaming
        words[Context.dst_count], words[Context.dst_size], words[Context.num_sources] = count, _SIZE, num_sources
        for source, address in enumerate(buffers[1:]):
            place = Context.sources + Source.num_words * source
            words[place : place + Source.num_words] = address, count, _SIZE
        words = self._stream
        words[StreamContext.task], words[StreamContext.context] = self._task, self._context.ctypes.data
        words[StreamContext.count], words[StreamContext.size] = count, _SIZE
