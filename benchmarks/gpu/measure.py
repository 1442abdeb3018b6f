"""Cases on the GPU: created, computed by ep and by PyTorch, compared, and timed in turns by events of the device."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np

import ep.ops
from benchmarks.cases.reduce import row_cases
from benchmarks.cases.sets import SETS
from ep import AllocationOptions, DeviceType, RequirePrimitive
from ep.bench.case import Array, Case, UnaryWork
from ep.cli.names import factory_of
from ep.include.data_type import as_data_type
from tests.cuda.graph import Graph

Call = Callable[[], object]
Found = dict[str, Any]

_BATCH_SECONDS: Final = 4e-4  # of a batch on the device, about
_LAUNCHES: Final = 64  # the most of a batch: fewer than a stream queues before its caller has to wait
_MARGIN: Final = 1.5  # the time for which the stream is kept busy, over the time of queueing
_COMPARED: Final = 2**22  # elements of a result: all of a smaller one, and 64 evenly spread pieces of a larger one


class Operand(NamedTuple):
    """A buffer on the device, and the dims of the array in it."""

    buffer: Any
    dims: tuple[int, ...]


class Prepared(NamedTuple):
    """A case with its inputs on the host, its inputs and results on the device, and ep's launch for each of these."""

    case: Case
    arrays: list[Array]
    sets: list[tuple[list[Operand], Operand]]
    ours: list[Call]


class Sample(NamedTuple):
    """One batch, in seconds of a launch. `ahead`: whether all of it was queued before the device began with it."""

    device: float
    host: float
    ahead: bool


class Bench:
    """A stream, which all libraries use, and the means to launch and to time cases on it, by their name SET/NAME/DTYPE.

    elements: of the result of a case, about. seconds: of timing for each case. copied: bytes of the copy with which
    cases are compared, and of what is filled to keep the stream busy. rotated: the least bytes of the buffers of a
    case, several times the L2 cache. compares: whether results are compared, and times of the device returned: not on a
    driver that computes nothing. rival: its `ways` are calls by name that compute a case.
    """

    def __init__(
        self, stream: Any, elements: int, *, seconds: float = 0.15, copied: int = 2**30, rotated: int = 2**28,
        compares: bool = True, rival: Any = None,
    ) -> None:  # fmt: skip
        self.stream, self.elements, self.seconds, self.copied, self.rotated = stream, elements, seconds, copied, rotated
        self.compares, self.rival = compares, rival
        self._device = stream.device()
        self._driver, self._index = self._device.driver, self._device.device_index()
        self._begin, self._end = self._device.CreateEvent(), self._device.CreateEvent()

    def launch(self, name: str) -> Found:
        """Launch a case once; `error` if its result is wrong."""
        made = self._prepared(name)
        return {} if self._is_right(made, self._computed(made, made.ours[0])) else {"error": "differs from NumPy"}

    def copy(self, name: str) -> Found:
        """Return the GB/s that the device's own copy reads and writes: the median, and the quartiles."""
        speeds = [2 * self.copied / 1e9 / sample.device for sample in self._in_turns({name: self._copy})[name]]
        lower, median, upper = statistics.quantiles(speeds, n=4)
        return {"gb_per_s": median, "quartiles": [lower, upper]} if self.compares else {}

    def host(self, name: str) -> Found:
        """Return the microseconds that launches of a case, and calls of its operator, take in Python: the medians."""
        made = self._prepared(name)
        calls = {"ep": made.ours[0], **(self.rival.ways(made.case, *made.sets[0]) if self.rival else {})}
        if isinstance(made.case.work, UnaryWork):
            array = ep.ops.copy_to_device(made.arrays[0], DeviceType.kCUDA)
            calls["ep.ops"] = partial(getattr(ep.ops, made.case.name), array)
        host = {
            each: statistics.median(self._sample(call, 100).host for _ in range(50)) for each, call in calls.items()
        }
        return {"host_us": {each: 1e6 * taken for each, taken in host.items()}}

    def graph(self, name: str, launches: int = 100) -> Found:
        """Return microseconds of a launch in a graph of many; `error` if a replay computes nothing."""
        made = self._prepared(name)
        self._computed(made, made.ours[0])
        graph = Graph(self.stream, lambda: [made.ours[0]() for _ in range(launches)])
        if not self._is_right(made, self._computed(made, graph.launch)):
            return {"error": "a replay does not compute"}
        samples = [self._sample(graph.launch, 10) for _ in range(10)]
        graph.destroy()
        device, host = (1e6 * statistics.median(times) / launches for times in list(zip(*samples, strict=True))[:2])
        return {"launches": launches, "host_us": host} | ({"device_us": device} if self.compares else {})

    def time(self, name: str) -> Found:
        """Return the microseconds of a case, and the copy's time for as many bytes over ep's.

        `error` says that ep's result is wrong: nothing is timed then. `not_timed` names the calls of the rival that
        failed or had another result, and `launch_bound` those for which the device waited for Python.
        """
        made, not_timed = self._prepared(name, rotates=True), dict[str, str]()
        calls = self._ready(made, not_timed)
        if not calls:
            return {"error": "differs from NumPy"}
        samples = self._in_turns(calls | {"copy": self._copy})
        if not self.compares:
            return {}
        seconds = {each: statistics.median(sample.device for sample in found) for each, found in samples.items()}
        speed = 2 * self.copied / seconds.pop("copy")
        lower, ours, upper = statistics.quantiles([sample.device for sample in samples["ep"]], n=4)
        others = [taken for each, taken in seconds.items() if each != "ep"]
        found = {
            "us": {each: 1e6 * taken for each, taken in seconds.items()},
            "ratio": min(others) / ours if others else None,
            "share_of_copy": made.case.bytes_moved / ours / speed,
            "launch_bound": [each for each in seconds if is_bound(samples[each])],
            "not_timed": not_timed,
            "quartiles": [1e6 * lower, 1e6 * upper],
            "bytes": made.case.bytes_moved,
            "copy_gb_per_s": speed / 1e9,
        }
        return {each: value for each, value in found.items() if value}

    @cached_property
    def _buffers(self) -> tuple[Any, Any]:
        return self._alloc(self.copied, np.uint8), self._alloc(self.copied, np.uint8)

    @cached_property
    def _busy_seconds(self) -> float:
        fill = partial(self._fill, self._buffers[0])
        return max(statistics.median(self._sample(fill, 4).device for _ in range(5)), 1e-9)

    def _alloc(self, size: int, dtype: Any) -> Any:
        return self._device.Alloc(AllocationOptions(), size).view(dtype)

    def _fill(self, buffer: Any) -> None:  # with bytes that a correct result is unlikely to have
        self._driver.fill(self._index, buffer.address, 0xA5, buffer.nbytes, self.stream.handle)

    def _copy(self) -> None:
        src, dst = (buffer.address for buffer in self._buffers)
        self._driver.copy(self._index, dst, src, self.copied, self.stream.handle)

    def _sample(self, call: Call, launches: int, busy_seconds: float = 0.0) -> Sample:
        """Time a batch; the device is kept busy for about this many seconds before it, while the batch is queued."""
        if busy_seconds > 0:
            for _ in range(min(32, 1 + math.ceil(busy_seconds / self._busy_seconds))):
                self._fill(self._buffers[0])
        self.stream.RecordEvent(self._begin)
        start = time.perf_counter()
        for _ in range(launches):
            call()
        queued = time.perf_counter() - start
        self.stream.RecordEvent(self._end)
        ahead = not self._begin.QueryDone()
        return Sample(self._begin.ElapsedTime(self._end) / 1e3 / launches, queued / launches, ahead)

    def _in_turns(self, calls: Mapping[str, Call]) -> dict[str, list[Sample]]:
        """Time several calls, one batch of each per round, for the seconds of a case and a few rounds at least."""
        batches, samples = {}, {name: list[Sample]() for name in calls}
        for name, call in calls.items():
            self._sample(call, 1)
            first = self._sample(call, 5)
            launches = min(max(math.ceil(_BATCH_SECONDS / max(first.device, 1e-9)), 3), _LAUNCHES)
            batches[name] = call, launches, _MARGIN * launches * first.host
        end, rounds = time.perf_counter() + self.seconds, 0
        while rounds < 7 or time.perf_counter() < end:
            rounds += 1
            for name, batch in batches.items():
                samples[name].append(self._sample(*batch))
        return samples

    def _prepared(self, name: str, *, rotates: bool = False) -> Prepared:
        """Return a case; if it `rotates`, with its buffers in several copies; KeyError if there is none."""
        group, words, dtype = name.split("/")
        make = {**SETS, "rows": row_cases}[group]
        case = {case.name: case for case in make(self.elements, as_data_type(dtype).dtype)}[words]
        arrays = [np.ascontiguousarray(array) for array in case.make(np.random.default_rng(20))]
        size, sets = math.prod(case.out_dims) * case.out_type.itemsize, []
        number = -(-self.rotated // (sum(array.nbytes for array in arrays) + size)) if rotates else 1
        for _ in range(min(number, 64)):
            inputs = [Operand(self._alloc(array.nbytes, array.dtype), array.shape) for array in arrays]
            for (buffer, _), array in zip(inputs, arrays, strict=True):
                buffer.copy_from_host(array.reshape(-1), self.stream)
            sets.append((inputs, Operand(self._alloc(size, case.out_type), case.out_dims)))
        primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCUDA, *case.key)
        found_late: Any = SimpleNamespace(Launch=lambda *arguments: primitive.Launch(*arguments))  # as users call it
        bind = partial(case.bind, found_late, self.stream)
        return Prepared(
            case, arrays, sets, [bind([each.buffer for each in inputs], out.buffer) for inputs, out in sets]
        )

    def _ready(self, made: Prepared, not_timed: dict[str, str]) -> dict[str, Call]:
        """Return the calls whose results agree; none if ep's is wrong: not the rival's or, without one, not NumPy's."""
        result, ready = self._computed(made, made.ours[0]), {"ep": in_turn(made.ours)}
        try:
            ways = [self.rival.ways(made.case, *each) for each in made.sets] if self.rival else [{}]
            for name, call in ways[0].items():
                if made.case.is_right(result, self._computed(made, call)):
                    ready[name] = in_turn([each[name] for each in ways])
                else:
                    not_timed[name] = "differs from ep"
        except Exception as error:  # for example, a dtype that the library lacks
            not_timed[self.rival.name] = f"{type(error).__name__}: {error}".partition("\n")[0]
        confirmed = len(ready) > 1 and math.prod(made.case.out_dims) > _COMPARED  # NumPy would take long
        return ready if confirmed or self._is_right(made, result) else {}

    def _computed(self, made: Prepared, call: Call) -> Array:
        """Return the first result after a call."""
        out = made.sets[0][1].buffer
        self._fill(out)
        call()
        self.stream.Sync()
        return np.concatenate([out[piece].copy_to_host(self.stream) for piece in compared(out.size)])

    def _is_right(self, made: Prepared, result: Array) -> bool:
        """Return whether a result agrees with NumPy's, if results are compared."""
        if not self.compares:
            return True
        case, arrays = made.case, made.arrays
        if not case.numpy_has_it:  # it computes number by number
            arrays = [arrays[0].reshape(-1)[: 2**12]]
        expected = np.empty(case.out_dims if case.numpy_has_it else arrays[0].shape, case.out_type)
        with np.errstate(all="ignore"):
            case.numpy(arrays, expected)()
        pieces = [expected.reshape(-1)[piece] for piece in compared(expected.size)]
        return case.is_right(result[: sum(map(len, pieces))], np.concatenate(pieces))


def is_bound(samples: Sequence[Sample]) -> bool:
    """Return whether the device waited for Python in most batches: not queued ahead, and no longer on the device."""
    return 2 * sum(not each.ahead and each.device < _MARGIN * each.host for each in samples) > len(samples)


def compared(count: int) -> list[slice]:
    """Return the parts of a result of this many elements that are compared, the first and the last element included."""
    if count <= _COMPARED:
        return [slice(0, count)]
    starts = [(count - _COMPARED // 64) * number // 63 for number in range(64)]
    return [slice(start, start + _COMPARED // 64) for start in starts]


def in_turn(calls: Sequence[Call]) -> Call:
    """Return a call that makes one of `calls` each time, in a cycle."""
    step: Callable[[], Call] = itertools.cycle(calls).__next__
    return calls[0] if len(calls) == 1 else lambda: step()()
