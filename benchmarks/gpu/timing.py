"""Times of the device: events around batches of launches, of several libraries in turns."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.gpu.scale import Scale
from ep.bench.timing import Timing
from ep.include.allocation_options import AllocationOptions

Call = Callable[[], object]

_FIRST: Final = 5
_SLOW: Final = 10
_ROUNDS_OF_SLOW: Final = 3
_MARGIN: Final = 1.5  # the time for which the stream is kept busy, over the time of queueing


@dataclass(frozen=True)
class Sample:
    """One batch, per launch. `ahead`: whether all of it was queued before the device began to execute it."""

    device_seconds: float
    host_seconds: float
    ahead: bool


@dataclass(frozen=True)
class Measured:
    """Many batches, per launch. `launches`: of one batch. `launch_bound`: the device waited for Python."""

    device: Timing
    host_seconds: float
    launches: int
    launch_bound: bool


class EventClock:
    """Two events of a stream, and memory to fill that keeps the device busy."""

    def __init__(self, stream: Any, scale: Scale) -> None:
        device = stream.device()
        self.scale = scale
        self._stream, self._driver, self._index = stream, device.driver, device.device_index()
        self._begin, self._end = device.CreateEvent(), device.CreateEvent()
        self._filler = device.Alloc(AllocationOptions(), scale.filler)
        self._fill_seconds = 0.0
        self._fill()
        self._fill_seconds = statistics.median(self.sample(self._fill, 4, 0).device_seconds for _ in range(_FIRST))

    def _fill(self) -> None:
        self._driver.fill(self._index, self._filler.address, 0, self._filler.nbytes, self._stream.handle)

    def sample(self, call: Call, launches: int, busy_seconds: float) -> Sample:
        """Time one batch; the device is kept busy for about this many seconds before it."""
        if busy_seconds > 0:
            for _ in range(min(self.scale.most_fills, 1 + math.ceil(busy_seconds / max(self._fill_seconds, 1e-9)))):
                self._fill()
        self._stream.RecordEvent(self._begin)
        start = time.perf_counter()
        for _ in range(launches):
            call()
        queued = time.perf_counter() - start
        self._stream.RecordEvent(self._end)
        ahead = not self._begin.QueryDone()
        elapsed = self._begin.ElapsedTime(self._end) / 1e3
        return Sample(elapsed / launches, queued / launches, ahead)

    def interleaved(self, calls: Mapping[str, Call], seconds: float, yardstick: str = "") -> dict[str, Measured]:
        """Time several calls, one batch of each per round, for `seconds` in all and a few rounds at least.

        A call that takes ten times as long as the fastest is left out after three rounds.
        yardstick: a call that does other work, so that no call counts as slow compared with it.
        """
        first = {name: self._first(call) for name, call in calls.items()}
        launches = {name: self._launches(sample) for name, sample in first.items()}
        busy = {name: _MARGIN * launches[name] * sample.host_seconds for name, sample in first.items()}
        samples: dict[str, list[Sample]] = {name: [] for name in calls}
        active, rounds = list(calls), 0
        with _no_collection():
            end = time.perf_counter() + seconds
            while rounds < self.scale.rounds or time.perf_counter() < end:
                if rounds == _ROUNDS_OF_SLOW:
                    active = _not_slow(samples, yardstick)
                for name in active:
                    samples[name].append(self.sample(calls[name], launches[name], busy[name]))
                rounds += 1
        return {name: measured(found, launches[name]) for name, found in samples.items()}

    def _first(self, call: Call) -> Sample:
        self.sample(call, 1, 0)
        return self.sample(call, _FIRST, 0)

    def _launches(self, first: Sample) -> int:
        wanted = math.ceil(self.scale.batch_seconds / max(first.device_seconds, 1e-9))
        return min(max(wanted, 3), self.scale.most_launches)


def measured(samples: list[Sample], launches: int) -> Measured:
    """Return the medians of the samples.

    A batch that was not queued ahead of the device is bound by the launch if its launches took the device no longer
    than they took Python: a longer kernel hides the queueing of the next one.
    """
    lower, median, upper = statistics.quantiles((sample.device_seconds for sample in samples), n=4)
    bound = [not sample.ahead and sample.device_seconds < _MARGIN * sample.host_seconds for sample in samples]
    host = statistics.median(sample.host_seconds for sample in samples)
    return Measured(Timing(median, lower, upper), host, launches, 2 * sum(bound) > len(bound))


def host_seconds(call: Call, wait: Call, launches: int, batches: int) -> float:
    """Return the seconds of a launch in Python, the median over batches; `wait` is called after each, untimed."""
    samples = []
    call()
    wait()
    with _no_collection():
        for _ in range(batches):
            start = time.perf_counter()
            for _ in range(launches):
                call()
            samples.append((time.perf_counter() - start) / launches)
            wait()
    return statistics.median(samples)


def _not_slow(samples: Mapping[str, list[Sample]], yardstick: str) -> list[str]:
    least = {name: min(sample.device_seconds for sample in found) for name, found in samples.items()}
    fastest = min((taken for name, taken in least.items() if name != yardstick), default=0.0)
    return [name for name, taken in least.items() if taken <= _SLOW * fastest or name == yardstick]


@contextmanager
def _no_collection() -> Iterator[None]:
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
