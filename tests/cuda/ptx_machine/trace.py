"""The accesses of launches to global memory, and the sectors that warps request.

Memory moves in sectors of 32 bytes. The accesses of a warp's lanes by one instruction, at each lane's n-th execution of
it, form one request, which moves each sector that it touches once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tests.cuda.ptx_machine.layout import Access
from tests.cuda.ptx_machine.warp import WARP

SECTOR_BYTES: Final = 32

RECORD: Final = 6
"""Words of a record: the instruction, the first epoch of its block, the thread, address, bytes, flags of `Access`."""

_MOST: Final = 2**22


@dataclass
class Requests:
    """The requests of one kind. num_bytes: bytes of all lanes together; num_sectors: sectors of all requests."""

    num_bytes: int = 0
    num_sectors: int = 0

    @property
    def sectors_per_byte(self) -> float:
        """Return the bytes of the sectors for each accessed byte: 1 if each sector is used in full."""
        return self.num_sectors * SECTOR_BYTES / self.num_bytes if self.num_bytes else 0.0


class Trace:
    """Records each access of the launches that it is passed to. loads, stores: requests by the name of the kernel."""

    def __init__(self) -> None:
        self.records = np.zeros((_MOST, RECORD), np.int64)
        self.loads: defaultdict[str, Requests] = defaultdict(Requests)
        self.stores: defaultdict[str, Requests] = defaultdict(Requests)

    def add(self, kernel: str, count: int) -> None:
        """Count the first `count` records, those of one launch.

        Raises ValueError if there was no room for all.
        """
        if count > len(self.records):
            raise ValueError(f"{kernel} makes {count} accesses to global memory, and at most {_MOST} are noted")
        found = self.records[:count]
        for kind, flag in ((self.loads, Access.READ), (self.stores, Access.WRITE)):
            chosen = found[found[:, 5] & flag != 0]
            kind[kernel].num_bytes += int(chosen[:, 4].sum())
            kind[kernel].num_sectors += _num_sectors(chosen)


def _num_sectors(records: np.ndarray[Any, Any]) -> int:
    """Return the number of sectors of all requests."""
    if not len(records):
        return 0
    site, epoch, thread, address, size = records.T[:5]
    by_lane = np.lexsort((thread, epoch, site))  # stable: the accesses of a lane stay in order
    lanes = np.stack((site, epoch, thread), 1)[by_lane]
    is_first = np.concatenate(([True], (lanes[1:] != lanes[:-1]).any(1)))
    begins = np.maximum.accumulate(np.where(is_first, np.arange(len(lanes)), 0))
    turn = np.arange(len(lanes)) - begins
    request = np.stack((lanes[:, 0], lanes[:, 1], lanes[:, 2] // WARP, turn), 1)
    first, last = address[by_lane] // SECTOR_BYTES, (address[by_lane] + size[by_lane] - 1) // SECTOR_BYTES
    # an access is aligned to its size, so it is within one sector or consists of whole sectors
    touched = np.concatenate([np.column_stack((request, first)), np.column_stack((request, last))])
    return len(np.unique(touched, axis=0))
