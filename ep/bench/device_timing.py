"""Timing by the events of an asynchronous device, which queues work."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, Final

from ep.bench.timing import Timing
from ep.include.stream import Stream

_SAMPLE_SECONDS: Final = 0.001  # a shorter launch is repeated until a sample takes this long
_MOST_REPEATS: Final = 500  # fewer launches than a device queues before it blocks the host
_MIN_SAMPLES: Final = 5


def on_device_clock(enqueue: Callable[[], object], stream: Stream, seconds: float) -> Timing:
    """Time the work that `enqueue` queues on `stream`, whose device's events have `ElapsedTime`.

    It runs for `seconds` in all, and takes at least five samples after two that are not counted. A sample is the time
    between an event before several back-to-back launches and one after them. The host's time for a launch shows only if
    the device finishes sooner.
    """
    device = stream.device()
    events: Any = device.CreateEvents(2)
    start, end = events

    def sample(repeats: int) -> float:
        stream.RecordEvent(start)
        for _ in range(repeats):
            enqueue()
        stream.RecordEvent(end)
        return float(start.ElapsedTime(end)) / 1e3 / repeats

    sample(1)
    repeats = min(max(1, int(_SAMPLE_SECONDS / max(sample(1), 1e-9))), _MOST_REPEATS)
    samples: list[float] = []
    finish = time.perf_counter() + seconds
    for number in itertools.count(1):
        samples.append(sample(repeats))
        if number >= _MIN_SAMPLES and time.perf_counter() >= finish:
            break
    device.DestroyEvents(events)
    return Timing.of(samples)
