"""Measures from where on launches write past the caches: the calibration of the processor at hand.

What is measured is a launch and another one that reads what it wrote: lines that went past the caches must be fetched
again by who reads them next.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import numpy as np

from ep.cpu.caches import last_caches
from ep.cpu.calibration import KINDS, NEVER, Calibration, everywhere, least_size
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
_ROUNDS: Final = 4  # at most: what is fastest is undisturbed
_MOST_BYTES: Final = 2**28  # that are measured
_SIZES: Final = (0.5, 0.75, 1.0, 2.0)  # of what a launch reads and writes, in last caches
_WORTH: Final = 1.2  # how much longer it may take past the caches: not all that is written is read at once
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


def measure(settings: np.ndarray[Any, Any], share: int, num_threads: int) -> Calibration:
    """Measure this processor for launches on `num_threads` threads, in 0.2 s; settings: a copy of the device's."""
    caches = min(last_caches(num_threads), _MOST_BYTES // 2)
    try:
        probe = _Probe(settings, share, int(max(_SIZES) * caches))
    except MemoryError:
        return everywhere(NEVER)
    end = time.perf_counter() + _SECONDS
    least = probe.least({(ahead,): probe.tiles(ahead, caches) for ahead in (0, _AHEAD)}, end - _SECONDS / 2)
    ahead = min((0, _AHEAD), key=lambda ahead: least[ahead,])
    probe.fetch_ahead(ahead)
    places = [(way, kind, size) for size in _SIZES for kind in range(KINDS) for way in (_THROUGH, _LINES, _TILES)]
    least = probe.least({place: probe.launch(*place[:2], int(place[2] * caches)) for place in places}, end)

    def sizes_of(way: int) -> tuple[int, ...]:
        better = [
            [least[way, kind, size] < _WORTH * least[_THROUGH, kind, size] for size in _SIZES] for kind in range(KINDS)
        ]
        return tuple(_first(each, caches, least_size(num_threads)) for each in better)

    return Calibration(sizes_of(_LINES), sizes_of(_TILES), ahead)


def _first(better: list[bool], caches: int, least: int) -> int:
    """The bytes from which on it is better, at all sizes that were measured; between two of them, their mean."""
    first = len(better)
    while first > 0 and better[first - 1]:
        first -= 1
    if first == len(better):
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

    def least(self, launches: Mapping[Any, Callable[[], None]], end: float) -> dict[Any, float]:
        """The seconds of each, the least of as many rounds as there are until `end`."""
        found = dict.fromkeys(launches, math.inf)
        for _ in range(_ROUNDS):
            for place, launch in launches.items():
                start = time.perf_counter()
                launch()
                found[place] = min(found[place], time.perf_counter() - start)
            if time.perf_counter() > end:
                break
        return found

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
