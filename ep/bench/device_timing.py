"""Timing by the events of a device, which queues work and does it while the host goes on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, Final

from ep.bench.timing import Timing
from ep.include.stream import Stream

_SAMPLE_SECONDS: Final = 0.001  # a shorter launch is repeated until a sample takes this long
_MOST_REPEATS: Final = 500  # fewer than a device queues before it lets the host wait
_MIN_SAMPLES: Final = 5


def on_device_clock(enqueue: Callable[[], object], stream: Stream, seconds: float) -> Timing:
    """Time what `enqueue` queues on `stream`, whose device's events have `ElapsedTime`.

    It takes `seconds` in all, and at least five samples after two that are not counted. A sample is the time between
    an event before several launches, back to back, and one after them; what the host needs for a launch shows only
    where the device is done sooner.
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
