"""Measures from where on launches write past the caches: the calibration of the processor at hand.

What is measured is a launch and another one that reads what it wrote: lines that went past the caches must be fetched
again by who reads them next. A launch past the caches takes turns with the same one through them, and only the ratio of
the two is kept, so that what else the machine does meanwhile counts for both.
"""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.cpu.caches import last_caches
from ep.cpu.calibration import KINDS, NEVER, Calibration, Kept, everywhere, least_size
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import load_word, loader, store_word, storer
from ep.cpu.engine.context import CONTEXT, CONTEXT_WORDS, NONE, SOURCE_WORDS
from ep.cpu.engine.state import SETTINGS, STATE, LaunchState
from ep.cpu.engine.streaming import STREAM, stream
from ep.cpu.threads.parallel import run
from ep.include.data_type import DataType

_SIZE: Final = 8  # bytes of an element
_READ: Final = KINDS  # the number of sources that stands for: read dst, and write nothing
_AHEAD: Final = 4096  # bytes of dst, of tiles: some processors fetch nothing ahead across the ends of pages
_SECONDS: Final = 0.15  # after which no further round begins
_ROUNDS: Final = 4  # of a process, at most
_PROCESSES: Final = 4  # that measure: the median of all rounds decides
_MOST_BYTES: Final = 2**28  # that are measured
_SIZES: Final = (0.5, 0.75, 1.0, 2.0)  # of what a launch reads and writes, in last caches
_WORTH: Final = 1.1  # how much longer it may take past the caches: not all that is written is read at once
_CLEAR: Final = math.log(1.5)  # what is clearer counts no more: it may be a bad moment
_THROUGH, _LINES, _TILES = range(3)

_load, _store = loader(DataType.kInt64), storer(DataType.kInt64)


def _probe(context, begin, end):
    dst, num_sources = load_word(context, CONTEXT.dst), load_word(context, CONTEXT.num_sources)
    a, b = load_word(context, CONTEXT.sources), load_word(context, CONTEXT.sources + SOURCE_WORDS)
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
        store_word(b, 0, total)


def _run(state, task, context, count):
    run(state, task, context, count, 1)


@cache
def tasks() -> tuple[int, int, int]:
    """The task that is measured, its twin that writes past the caches, and the one that shares it among threads."""
    tasks = (compile_task("probe", _probe, light=True), compile_task("probe", _probe, streaming=True))
    return (*tasks, compile_task("probe.run", _run, 4))


def measure(settings: np.ndarray[Any, Any], share: int, num_threads: int, kept: Kept | None = None) -> Kept:
    """Measure this processor for launches on `num_threads` threads, in 0.2 s.

    settings: a copy of the device's; kept: what processes before this one found.
    """
    caches = min(last_caches(num_threads), _MOST_BYTES // 2)
    try:
        probe = _Probe(settings, share, int(max(_SIZES) * caches))
    except MemoryError:
        return Kept(everywhere(NEVER))
    rounds, again = (list(kept.rounds), kept.again) if kept else ([], _PROCESSES)
    probe.tiles(0, caches)()  # the threads are awake from here on
    end = time.perf_counter() + _SECONDS
    for _ in range(_ROUNDS):
        rounds.append(tuple(probe.ratios(caches, _fetched_ahead(rounds))))
        if time.perf_counter() > end:
            break
    return Kept(decided(rounds, caches, least_size(num_threads)), tuple(rounds), again - 1)


def decided(rounds: Sequence[Sequence[float]], caches: int, least: int) -> Calibration:
    """The calibration that rounds of ratios lead to; caches: the bytes that sizes are measured in, least: the first."""
    medians = [statistics.median(each) for each in zip(*rounds, strict=True)]
    sizes = [_first(medians[1 + i : None : 2 * KINDS], caches, least) for i in range(2 * KINDS)]
    return Calibration(tuple(sizes[:KINDS]), tuple(sizes[KINDS:]), _fetched_ahead(rounds))


def _fetched_ahead(rounds: Sequence[Sequence[float]]) -> int:
    return _AHEAD if rounds and statistics.median(each[0] for each in rounds) < 1 else 0


def _first(ratios: Sequence[float], caches: int, least: int) -> int:
    """The bytes from which on it is better, where that costs least at all sizes together; between two, their mean.

    ratios: at each size, the time past the caches over that through them.
    """
    costs = [max(min(math.log(ratio / _WORTH), _CLEAR), -_CLEAR) for ratio in ratios]
    first = min(range(len(costs), -1, -1), key=lambda size: sum(costs[size:]))
    if first == len(costs):
        return NEVER
    return least if first == 0 else int(caches * math.sqrt(_SIZES[first - 1] * _SIZES[first]))


class _Probe:
    """Launches to measure: memory, and the words that they need."""

    def __init__(self, settings: np.ndarray[Any, Any], share: int, num_bytes: int) -> None:
        self._settings = settings
        self._state = LaunchState(STATE, ())
        self._state.set(settings=settings.ctypes.data, share=share)
        self._task, self._twin, run_task = tasks()
        words = (ctypes.c_int64,) * 4
        self._run: Callable[..., None] = ctypes.PYFUNCTYPE(None, *words)(run_task)
        # pages that nobody wrote to, and lines of zeros, are faster than any others
        self._memory = np.arange(num_bytes // _SIZE)
        self._sink = np.zeros(1, np.int64)
        self._context = np.zeros(CONTEXT_WORDS, np.int64)
        self._stream = np.zeros(STREAM.num_words, np.int64)

    def fetch_ahead(self, ahead: int) -> None:
        """Let tiles fetch their operands so far ahead."""
        self._settings[SETTINGS.ahead] = ahead

    def tiles(self, ahead: int, num_bytes: int) -> Callable[[], None]:
        """A copy by tiles."""
        launch = self.launch(_TILES, 1, num_bytes)

        def copy() -> None:
            self.fetch_ahead(ahead)
            launch()

        return copy

    def launch(self, way: int, kind: int, num_bytes: int) -> Callable[[], None]:
        """A launch that reads `kind` buffers and writes one, of `num_bytes` in all, and one that reads that again."""
        count = num_bytes // _SIZE // (kind + 1)

        def write_and_read() -> None:
            self._set_context(kind, count, self._twin if way == _LINES else NONE)
            if way == _THROUGH:
                self._call(self._task, self._context, count)
            else:
                self._call(stream(), self._stream, count)
            self._set_context(_READ, count, NONE)
            self._call(self._task, self._context, count)

        return write_and_read

    def ratios(self, caches: int, ahead: int) -> list[float]:
        """A round. First the time of tiles whose operands are fetched ahead, over that of others.

        Then, for each size, those past the caches over those through them, for each kind in lines, then for each kind
        by tiles, whose operands are fetched `ahead`.
        """
        found = [_seconds(self.tiles(_AHEAD, caches)) / _seconds(self.tiles(0, caches))]
        self.fetch_ahead(ahead)
        for size in _SIZES:
            times = [
                [_seconds(self.launch(way, kind, int(size * caches))) for way in (_THROUGH, _LINES, _TILES)]
                for kind in range(KINDS)
            ]
            found += [each[way] / each[_THROUGH] for way in (_LINES, _TILES) for each in times]
        return [float(f"{ratio:.3g}") for ratio in found]

    def _call(self, task: int, context: np.ndarray[Any, Any], count: int) -> None:
        self._run(self._state.words.ctypes.data, task, context.ctypes.data, count)

    def _set_context(self, num_sources: int, count: int, streaming: int) -> None:
        buffers = [self._memory.ctypes.data + _SIZE * count * place for place in range(KINDS)]
        if num_sources == _READ:
            buffers[2] = self._sink.ctypes.data
        words = self._context
        words[CONTEXT.dst], words[CONTEXT.state], words[CONTEXT.streaming] = (
            buffers[0],
            self._state.words.ctypes.data,
            streaming,
        )
        words[CONTEXT.dst_count], words[CONTEXT.dst_size], words[CONTEXT.num_sources] = count, _SIZE, num_sources
        for source, address in enumerate(buffers[1:]):
            place = CONTEXT.sources + SOURCE_WORDS * source
            words[place : place + SOURCE_WORDS] = address, count, _SIZE
        words = self._stream
        words[STREAM.task], words[STREAM.context] = self._task, self._context.ctypes.data
        words[STREAM.count], words[STREAM.size] = count, _SIZE


def _seconds(launch: Callable[[], None]) -> float:
    start = time.perf_counter()
    launch()
    return time.perf_counter() - start
