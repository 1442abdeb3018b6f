"""One case on the GPU: created, computed by all libraries and compared, then timed in turns."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.gpu.kinds import kind_of
from benchmarks.gpu.peers import Call, Operand, Peer
from benchmarks.gpu.timing import EventClock, Measured
from ep import AllocationOptions, DeviceType, RequirePrimitive
from ep.bench.case import Array, Arrays, Case
from ep.cli.names import factory_of

Result = dict[str, Any]

SEED: Final = 20
_POISON: Final = 0xA5
_COMPARED: Final = 2**22
"""Elements of a result that are compared: all of a smaller one, and evenly spread pieces of a larger one."""
_PIECES: Final = 64
_ONE_BY_ONE: Final = 2**12


class TooLarge(Exception):
    """Raised if a case does not fit into the memory of the device."""


class Bench:
    """The device, the stream that all libraries use, the peers, and the time limit of a case."""

    def __init__(self, stream: Any, clock: EventClock, peers: Sequence[Peer], seconds: float) -> None:
        self._stream, self._clock, self._peers, self._seconds = stream, clock, peers, seconds
        self._device = stream.device()
        self._driver, self._index = self._device.driver, self._device.device_index()
        size = clock.scale.copy
        self._from, self._to = (self._device.Alloc(AllocationOptions(), size) for _ in range(2))
        self._driver.fill(self._index, self._from.address, 1, size, stream.handle)

    def copy(self) -> None:
        """Queue the device's own copy, with which cases are compared."""
        self._driver.copy(self._index, self._to.address, self._from.address, self._from.nbytes, self._stream.handle)

    def copy_speed(self) -> float:
        """Return the bytes per second that this copy reads and writes."""
        return self._speed(self._clock.interleaved({"copy": self.copy}, self._seconds)["copy"])

    def _speed(self, copy: Measured) -> float:
        return 2 * self._from.nbytes / copy.device.median

    def measure(self, case: Case, size: int) -> Result:
        """Return the times of a case of about `size` elements.

        `wrong` names the libraries that failed or had another result; they are not timed.
        """
        wrong: dict[str, str] = {}
        rotated = size >= self._clock.scale.rotated_from
        with np.errstate(all="ignore"):
            arrays = [np.ascontiguousarray(array) for array in case.make(np.random.default_rng(SEED))]
            sets = self._sets(case, arrays, rotated)
            begin = time.perf_counter()
            calls = self._ready(case, arrays, sets, wrong)
            prepared = time.perf_counter() - begin
        del arrays
        times = self._time(calls, rotated)
        copied = times.pop("copy", None)
        return self._result(case, times, copied, wrong) | {
            "cache": "cold" if rotated else "warm",
            "sets": len(sets),
            "prepare_seconds": prepared,
        }

    def _time(self, calls: dict[str, Call], rotated: bool) -> dict[str, Measured]:
        if calls and rotated:
            calls = calls | {"copy": self.copy}
        return self._clock.interleaved(calls, self._seconds, yardstick="copy") if calls else {}

    def _result(self, case: Case, times: dict[str, Measured], copy: Measured | None, wrong: dict[str, str]) -> Result:
        seconds = {name: found.device.median for name, found in times.items()}
        rivals = {name: taken for name, taken in seconds.items() if name != "ep"}
        best = min(rivals, key=rivals.__getitem__, default=None)
        ours, speed = seconds.get("ep"), self._speed(copy) if copy else None
        return {
            "case": case.name,
            "kind": kind_of(case),
            "group": case.group,
            "elements": math.prod(case.out_dims),
            "bytes": case.bytes_moved,
            "seconds": seconds,
            "quartiles": {name: [found.device.lower, found.device.upper] for name, found in times.items()},
            "host_seconds": {name: found.host_seconds for name, found in times.items()},
            "launch_bound": [name for name, found in times.items() if found.launch_bound],
            "best_peer": best,
            "ratio": rivals[best] / ours if ours and best else None,
            "share_of_copy": case.bytes_moved / ours / speed if ours and speed else None,
            "copy_gb_per_s": speed / 1e9 if speed else None,
            "wrong": wrong,
        }

    def _sets(self, case: Case, arrays: Arrays, rotated: bool) -> list[tuple[list[Operand], Operand]]:
        """Return the inputs and the result on the device, in several copies if the cache must not hold them."""
        scale = self._clock.scale
        size = sum(array.nbytes for array in arrays) + math.prod(case.out_dims) * case.out_type.itemsize
        number = min(scale.most_sets, -(-scale.rotated // size)) if rotated else 1
        figures = self._device.memory_figures()
        if number * size > 0.9 * (figures["free"] + figures["cached"]):
            raise TooLarge(f"{number * size:,} bytes do not fit")
        first = [Operand(self._upload(array), array.shape) for array in arrays]
        sets = [(first, self._empty(case))]
        for _ in range(number - 1):
            sets.append(([self._copy_of(operand) for operand in first], self._empty(case)))
        return sets

    def _alloc(self, size: int, dtype: np.dtype[Any]) -> Any:
        return self._device.Alloc(AllocationOptions(), size).view(dtype)

    def _upload(self, array: Array) -> Any:
        buffer = self._alloc(array.nbytes, array.dtype)
        buffer.copy_from_host(array.reshape(-1), self._stream)
        return buffer

    def _copy_of(self, operand: Operand) -> Operand:
        buffer = self._alloc(operand.buffer.nbytes, operand.buffer.dtype)
        self._driver.copy(self._index, buffer.address, operand.buffer.address, buffer.nbytes, self._stream.handle)
        return Operand(buffer, operand.dims)

    def _empty(self, case: Case) -> Operand:
        size = math.prod(case.out_dims) * case.out_type.itemsize
        return Operand(self._alloc(size, case.out_type), case.out_dims)

    def _ready(
        self, case: Case, arrays: Arrays, sets: list[tuple[list[Operand], Operand]], wrong: dict[str, str]
    ) -> dict[str, Call]:
        """Return the calls of the libraries whose results agree."""
        primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCUDA, *case.key)
        ways: dict[str, list[Call]] = {
            "ep": [
                case.bind(primitive, self._stream, [operand.buffer for operand in inputs], out.buffer)
                for inputs, out in sets
            ]
        }
        for peer in self._peers:
            try:
                for inputs, out in sets:
                    for name, call in peer.prepare(case, inputs, out).items():
                        ways.setdefault(name, []).append(call)
            except Exception as error:  # for example, a dtype that the library lacks
                wrong[peer.name] = _text(error)
        out = sets[0][1].buffer
        result = self._computed(ways["ep"][0], out)
        ready = {"ep": in_turn(ways["ep"])}
        for name, calls in ways.items():
            if name == "ep" or len(calls) < len(sets):
                continue
            try:
                got = self._computed(calls[0], out)
            except Exception as error:
                wrong[name] = _text(error)
                continue
            if case.is_right(result, got):
                ready[name] = in_turn(calls)
            else:
                wrong[name] = f"differs from ep, {_difference(result, got)}"
        confirmed = len(ready) > 1 and math.prod(case.out_dims) > _COMPARED  # by a peer; NumPy would take long
        if not confirmed and not self._is_right(case, arrays, result):
            wrong.clear()
            wrong["ep"] = "differs from NumPy"
            return {}
        return ready

    def _computed(self, call: Call, out: Any) -> Array:
        """Return the result of a call, written over bytes that a correct result is unlikely to have."""
        self._driver.fill(self._index, out.address, _POISON, out.nbytes, self._stream.handle)
        call()
        self._stream.Sync()
        pieces = [out[piece].copy_to_host(self._stream) for piece in compared(out.size)]
        return np.concatenate(pieces)

    def _is_right(self, case: Case, arrays: Arrays, result: Array) -> bool:
        """Return whether the result agrees with NumPy's."""
        if not case.numpy_has_it:
            x = arrays[0].reshape(-1)[:_ONE_BY_ONE]
            expected = np.empty(x.shape, case.out_type)
            case.numpy([x], expected)()
            return case.is_right(result[: x.size], expected)
        expected = np.empty(case.out_dims, case.out_type)
        case.numpy(arrays, expected)()
        flat = expected.reshape(-1)
        return case.is_right(result, np.concatenate([flat[piece] for piece in compared(flat.size)]))


def compared(count: int) -> list[slice]:
    """Return the parts of a result of this many elements that are compared.

    The first and the last element are among them.
    """
    if count <= _COMPARED:
        return [slice(0, count)]
    length = _COMPARED // _PIECES
    starts = [(count - length) * number // (_PIECES - 1) for number in range(_PIECES)]
    return [slice(start, start + length) for start in starts]


def in_turn(calls: list[Call]) -> Call:
    """Return a call that makes one of `calls` each time, in a cycle."""
    if len(calls) == 1:
        return calls[0]
    endless = itertools.cycle(calls)
    return lambda: next(endless)()


def _difference(ours: Array, theirs: Array) -> str:
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
    worst = int(np.argmax(np.where(differs, np.nan_to_num(np.abs(a - b), nan=np.inf), 0)))
    return f"{np.count_nonzero(differs)} of {a.size} compared, such as {a[worst]:g} and {b[worst]:g}"


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
