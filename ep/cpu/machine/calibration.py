"""The measured properties of the processor: the size from which launches use non-temporal stores, and how.

A calibration is made once for a machine and a number of threads, by the first launch that is large enough to depend on
it, or in advance by `ep cache warm`. It is stored with the kernels, together with the measured times. The first few
processes measure again, and the least times decide, so that a disturbance has no lasting effect. A calibration changes
only the time of a launch, never a bit of a result.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from ep.common.processors import information
from ep.cpu.machine.caches import last_level_caches

KINDS: Final = 3
"""Kinds of work: a launch writes much more than it reads, about as much, or less."""
NEVER: Final = 2**62
VERSION: Final = "3"
"""The version of the file format."""
_MOST_AHEAD: Final = 2**16
_MOST_AGAIN: Final = 100
_LEAST_SECONDS, _MOST_SECONDS = 1e-9, 1e3  # limits of a measured launch


class Calibration(NamedTuple):
    """The sizes, in bytes read and written, above which launches use non-temporal stores, for each kind of work.

    lines: for tasks that write whole lines with non-temporal stores themselves; tiles: for tasks whose tiles are copied
        with them.
    ahead: the distance, in bytes of dst, by which the operands of tiles are prefetched; 0 if the processor's own
        prefetching is used.
    """

    lines: tuple[int, ...]
    tiles: tuple[int, ...]
    ahead: int

    def in_words(self) -> str:
        """Return a description for users, in one line."""
        ways = (f"by {way} from {_in_mib(sizes)}" for way, sizes in zip(("lines", "tiles"), self[:2], strict=True))
        ahead = f"operands are prefetched {self.ahead} bytes ahead" if self.ahead else "no software prefetch"
        return f"non-temporal stores (for writing, copying, reading more) {', '.join(ways)}; {ahead}"


class StoredCalibration(NamedTuple):
    """The contents of the file of a calibration.

    times: the least seconds so far, in the order of `lines/probe.py`, or empty.
    again: the number of processes that have yet to measure.
    """

    calibration: Calibration
    times: tuple[float, ...] = ()
    again: int = 0


_FIELDS: Final = frozenset([*Calibration._fields, "times", "again"])


def everywhere(num_bytes: int) -> Calibration:
    """Return the calibration with which every launch of more bytes, read and written, uses non-temporal stores."""
    return Calibration((num_bytes,) * KINDS, (num_bytes,) * KINDS, 0)


def least_size(num_threads: int) -> int:
    """Return the most bytes that a launch reads and writes with ordinary stores while there is no calibration."""
    return last_level_caches(num_threads) // 2


def name(num_threads: int) -> str:
    """Return the file name of a calibration: the processor, its caches, and the number of threads."""
    numbers = "-".join(information(field) for field in ("cpu family", "model", "stepping"))
    parts = (
        information("model name"),
        numbers,
        f"{last_level_caches(num_threads) >> 10}-KiB",
        f"{num_threads}-threads",
    )
    return ".".join(
        ["calibration", *(re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-")[:80] or "unknown" for part in parts)]
    )


def packed(kept: StoredCalibration) -> bytes:
    """Return the contents of the file of a calibration."""
    return json.dumps(kept.calibration._asdict() | {"times": kept.times, "again": kept.again}).encode()


def unpacked(contents: bytes, num_times: int) -> StoredCalibration | None:
    """Return the decoded `contents`, or None if they are not a calibration, or have another format.

    num_times: the number of times, if there are any.
    """
    try:
        found = json.loads(contents)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.keys() != _FIELDS:
        return None
    lines, tiles, ahead, again, times = (found[name] for name in ("lines", "tiles", "ahead", "again", "times"))
    fits = (
        all(_are_numbers(sizes, int, 0, NEVER) and len(sizes) == KINDS for sizes in (lines, tiles))
        and _are_numbers([ahead], int, 0, _MOST_AHEAD)
        and _are_numbers([again], int, 0, _MOST_AGAIN)
        and _are_numbers(times, float, _LEAST_SECONDS, _MOST_SECONDS)
        and len(times) in (0, num_times)
    )
    return StoredCalibration(Calibration(tuple(lines), tuple(tiles), ahead), tuple(times), again) if fits else None


def _are_numbers(found: Any, kind: type[Any], least: float, most: float) -> bool:
    """Return whether this is a list of numbers of one type, all from `least` to `most`."""
    return isinstance(found, list) and all(type(number) is kind and bool(least <= number <= most) for number in found)


def _in_mib(sizes: tuple[int, ...]) -> str:
    return "/".join("never" if size >= NEVER else f"{size / 2**20:.3g}" for size in sizes) + " MiB on"
