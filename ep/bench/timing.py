"""Timing of calls that are compared with each other: in turns, so that a busy machine affects all of them."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SAMPLE_SECONDS: Final = 0.0005  # a shorter call is repeated until a sample takes this long
_MIN_ROUNDS: Final = 5
_SLOW: Final = 10
_ROUNDS_OF_SLOW: Final = 3
_FIRST_CALLS: Final = 9
_FIRST_SECONDS: Final = 0.1
_LONG: Final = 0.05  # in a call of this many seconds, the time to wake up threads does not show
_SETTLING: Final = 0.01  # seconds of calls before a turn, which fill the caches with the call's data again
_TURN: Final = 0.005  # seconds of samples in a turn with settling: much more than one sample


@dataclass(frozen=True)
class Timing:
    """The seconds of one call: the median of the samples, and the quartiles."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Timing:
        """Return the timing of two samples or more."""
        lower, median, upper = statistics.quantiles(samples, n=4)
        return cls(median, lower, upper)


def interleaved(
    calls: Mapping[str, Callable[[], object]],
    seconds: float = 0.5,
    settle: Callable[[], None] | None = None,
    yardstick: str = "",
) -> dict[str, Timing]:
    """Time several calls, each one turn per round, for `seconds` in all and for at least five rounds.

    Every call has finished its work when it returns. The first round is not counted. A call that takes ten times as
    long as the fastest is left out after three rounds.

    settle: called before each turn; it waits for threads of the previous call that still spin and would take processors
        from the next one. The turn then begins with calls that are not counted and wake up the threads that it needs,
        and has several samples: if a launch is about as large as the last-level cache, single samples differ by a
        factor.
    yardstick: a call that does other work than the rest, so that none is slow compared with it.
    """
    first = {name: _first(call, min(_FIRST_SECONDS, seconds / 4)) for name, call in calls.items()}
    repeats = {name: max(1, int(_SAMPLE_SECONDS / taken)) for name, taken in first.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    active = list(calls)
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        for round_number in itertools.count():
            if round_number >= _MIN_ROUNDS and time.perf_counter() >= end:
                break
            if round_number == _ROUNDS_OF_SLOW:
                least = {name: min(found) for name, found in samples.items()}
                fastest = min((taken for name, taken in least.items() if name != yardstick), default=0.0)
                active = [name for name in calls if least[name] <= _SLOW * fastest or name == yardstick]
            for name in active:
                in_turn = 1
                if settle is not None:
                    settle()
                    if first[name] < _LONG:
                        _sample(calls[name], max(repeats[name], int(_SETTLING / first[name])))
                    in_turn = max(1, int(_TURN / (repeats[name] * first[name])))
                samples[name] += [_sample(calls[name], repeats[name]) for _ in range(in_turn)]
    finally:
        if collecting:
            gc.enable()
    return {name: Timing.of(measured) for name, measured in samples.items()}


def _first(call: Callable[[], object], seconds: float) -> float:
    """Return about the time of a call: the least of a few, since one is long if a thread loses its processor."""
    call()
    end, least = time.perf_counter() + seconds, _sample(call, 1)
    for _ in range(_FIRST_CALLS):
        if time.perf_counter() >= end:
            break
        least = min(least, _sample(call, 1))
    return max(least, 1e-9)


def _sample(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
