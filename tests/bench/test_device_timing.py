"""Timing by the clock of a device, and trials of cases on the device under test."""

from types import SimpleNamespace

import pytest

from ep import DeviceType
from ep.bench.cases import bench_cases, copy
from ep.bench.device_timing import on_device_clock
from ep.bench.trial import set_up
from ep.cli.names import factory_of


class Clock:
    """A stream on a device where each launch takes a second, and the first one a hundred."""

    def __init__(self, seconds):
        self.now, self.seconds, self.launches = 0.0, seconds, 0
        self.device_events, self.destroyed = [], []

    def device(self):
        return SimpleNamespace(CreateEvents=self.create, DestroyEvents=self.destroyed.extend)

    def create(self, count):
        def event():
            made = SimpleNamespace(at=None)
            made.ElapsedTime = lambda end: (end.at - made.at) * 1e3
            return made

        self.device_events = [event() for _ in range(count)]
        return self.device_events

    def RecordEvent(self, event):
        event.at = self.now

    def enqueue(self):
        self.now += self.seconds if self.launches else 100 * self.seconds
        self.launches += 1


@pytest.mark.parametrize(("seconds", "repeats"), [(1.0, 1), (1e-4, 10), (1e-9, 500)])
def test_on_device_clock(seconds, repeats):
    stream = Clock(seconds)
    timing = on_device_clock(stream.enqueue, stream, 0.0)
    assert (timing.lower, timing.median, timing.upper) == pytest.approx((seconds,) * 3)
    assert stream.launches == pytest.approx(2 + 5 * repeats, abs=5)
    assert stream.destroyed == stream.device_events


@pytest.mark.parametrize("case", [*bench_cases(2**6), copy(2**6)], ids=lambda case: case.name)
def test_trial(device, case):
    trial = set_up(case, device.device, factory_of(case.primitive))
    assert trial.is_right
    assert trial.has_clock == (device.type is not DeviceType.kCPU)
    times = trial.time(0.0)
    assert set(times) == {"ep", "numpy"}
    assert all(0 < timing.lower <= timing.median <= timing.upper for timing in times.values())
