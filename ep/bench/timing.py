"""Timing of things that are compared with each other: in turns, so that a busy machine is unfair to none."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_SAMPLE_SECONDS: Final = 0.0005  # a shorter call is repeated until a sample takes this long
_MIN_ROUNDS: Final = 5


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median of the samples, and the quartiles around it."""

    median: float
    lower: float
    upper: float


def interleaved(calls: Mapping[str, Callable[[], object]], seconds: float = 0.5) -> dict[str, Timing]:
    """Time several calls, each once per round, for `seconds` in all and for at least five rounds.

    Every call has finished its work when it returns. The first round is not counted.
    """
    repeats = {name: _repeats(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(next(iter(samples.values()))) < _MIN_ROUNDS:
            for name, call in calls.items():
                samples[name].append(_sample(call, repeats[name]))
    finally:
        if collecting:
            gc.enable()
    return {name: _timing(measured) for name, measured in samples.items()}


def _repeats(call: Callable[[], object]) -> int:
    call()
    return max(1, int(_SAMPLE_SECONDS / max(_sample(call, 1), 1e-9)))


def _sample(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def _timing(samples: list[float]) -> Timing:
    lower, median, upper = statistics.quantiles(samples, n=4)
    return Timing(median, lower, upper)
