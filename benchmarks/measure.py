"""One case: created, computed by all libraries and compared, then timed in turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.peers import Contender, Peer
from benchmarks.quiet import wait_for_threads
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.bench import data
from ep.bench.case import Array, Case, OneHotWork, WhereWork
from ep.bench.cases import copy
from ep.bench.timing import Timing, interleaved
from ep.cli.names import factory_of

Result = dict[str, Any]

_COPIED: Final = 8  # bytes that are read and written for each element of a copy
COPY_ELEMENTS: Final = 2**25  # 128 MiB of float32
_SEED: Final = 20
_COMPARED: Final = 2**20  # of a larger result, both ends of this size are compared, and every 1009th element
_BESIDE_COPY: Final = 2**20  # a case that moves at least this many bytes takes turns with a copy of as many
_ONE_BY_ONE: Final = 2**12


class Bench:
    """The device, the peers, and the time limit of a case."""

    def __init__(self, peers: Sequence[Peer], threads: int, seconds: float, behind: int = data.BEHIND_A_LINE) -> None:
        """behind: the bytes from the start of a cache line to each array."""
        self._peers, self._seconds, self._behind = peers, seconds, behind
        self._device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        self._device.SetNumThreads(threads)
        self._stream = self._device.CreateStream()
        self._copy = copy(COPY_ELEMENTS)
        self._copier = ""

    def copy_bandwidth(self) -> dict[str, float]:
        """Return GB/s of each library's own copy of 128 MiB. The fastest except ep's copies as much as each case."""
        ready = self._ready(self._copy, {})
        times = self._time(ready)
        self._copier = min((name for name in times if name != "ep"), key=lambda name: times[name].median, default="ep")
        return {name: self._copy.bytes_moved / timing.median / 1e9 for name, timing in times.items()}

    def measure(self, case: Case, behind: int | None = None) -> Result:
        """Return the times of a case; `wrong` names the libraries whose results differ, which are not timed.

        behind: the bytes from the start of a cache line to each array, if they are others than so far.
        """
        wrong: dict[str, str] = {}
        self._behind = self._behind if behind is None else behind
        with np.errstate(all="ignore"):
            ready = self._ready(case, wrong)
            if ready and self._copier and case.bytes_moved >= _BESIDE_COPY:
                ready["copy"] = self._ready(copy(case.bytes_moved // _COPIED), {})[self._copier]
            times = self._time(ready)
        copied = times.pop("copy").median if "copy" in times else None
        rivals = {name: timing.median for name, timing in times.items() if name != "ep"}
        best = min(rivals, key=rivals.__getitem__, default=None)
        ours = times["ep"].median if "ep" in times else None
        return {
            "case": case.name,
            "group": case.group,
            "dtype": _dtype(case).name,
            "elements": math.prod(case.out_dims),
            "bytes": case.bytes_moved,
            "operations": case.operations,
            "seconds": {name: timing.median for name, timing in times.items()},
            "quartiles": {name: [timing.lower, timing.upper] for name, timing in times.items()},
            "best_peer": best,
            "ratio": rivals[best] / ours if ours and best else None,
            "share_of_copy": copied / ours if ours and copied else None,
            "copy_gb_per_s": case.bytes_moved / copied / 1e9 if copied else None,
            "wrong": wrong,
        }

    def _time(self, ready: dict[str, Contender]) -> dict[str, Timing]:
        calls = {name: contender.call for name, contender in ready.items()}
        return interleaved(calls, self._seconds, wait_for_threads, yardstick="copy") if calls else {}

    def _buffer(self, array: Array) -> Array:
        buffer = self._empty(array.shape, array.dtype)
        np.copyto(buffer, array)
        return buffer

    def _empty(self, dims: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return data.array(dims, dtype, self._behind)

    def _ready(self, case: Case, wrong: dict[str, str]) -> dict[str, Contender]:
        """Return the libraries whose results agree."""
        primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCPU, *case.key)
        inputs = [self._buffer(np.asarray(array)) for array in case.make(np.random.default_rng(_SEED))]
        out = self._empty(case.out_dims, case.out_type)
        flat = [array.reshape(-1) for array in inputs]
        ours = Contender(case.bind(primitive, self._stream, flat, out.reshape(-1)), lambda: out)
        ours.call()
        result = _sample(out).copy()
        ready = {}
        if self._is_right(case, inputs, out, result):
            ready["ep"] = ours
        else:
            wrong["ep"] = "differs from NumPy"
        for peer in self._peers:
            contender = peer.prepare(case, inputs, out)
            if contender is None:
                continue
            contender.call()  # the first call of PyTorch's second thread may be less accurate than all later ones
            out.reshape(-1).view(np.uint8).fill(0xA5)
            contender.call()
            got = _sample(contender.result().reshape(case.out_dims))
            if case.is_right(result, got):
                ready[peer.name] = contender
            else:
                wrong[peer.name] = f"differs from ep, {_difference(result, got)}"
        return ready

    def _is_right(self, case: Case, inputs: list[Array], out: Array, result: Array) -> bool:
        if case.numpy_has_it:
            case.numpy(inputs, out)()
            return case.is_right(result, _sample(out))
        x = inputs[0].reshape(-1)[:_ONE_BY_ONE]
        expected = np.empty(x.shape, case.out_type)
        case.numpy([x], expected)()
        return case.is_right(result[: x.size], expected)


def _dtype(case: Case) -> np.dtype[Any]:
    """Return the data type that the case is about, among those of its key."""
    dtypes = [part for part in case.key if isinstance(part, np.dtype)]
    return case.out_type if isinstance(case.work, OneHotWork | WhereWork) or not dtypes else dtypes[0]


def _sample(array: Array) -> Array:
    """Return the elements of a result that are compared."""
    flat = array.reshape(-1)
    if flat.size <= 4 * _COMPARED:
        return flat
    return np.concatenate([flat[:_COMPARED], flat[_COMPARED:-_COMPARED:1009], flat[-_COMPARED:]])


def _difference(ours: Array, theirs: Array) -> str:
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    differs = a != b
    worst = int(np.argmax(np.where(differs, np.nan_to_num(np.abs(a - b), nan=np.inf), 0)))
    return f"{np.count_nonzero(differs)} of {a.size} compared, such as {a[worst]:g} and {b[worst]:g}"
