"""The sizes on a GPU, and smaller ones for tests in which kernels run on the CPU from their PTX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Scale:
    """Sizes in bytes.

    copy: the copy with which cases are compared.
    rotated: the least total of the buffers of a case, from `rotated_from` elements on: several times the L2 cache,
        which has 50 MB on an H100 and 60 MB on an H200.
    most_sets: the most sets of buffers of a case.
    filler: the memory that is filled to keep the stream busy while a batch is queued.
    batch_seconds: the approximate time of a batch on the device; it has at most `most_launches` launches.
    rounds: the least number of samples.
    elements: the default size of cases.
    ids: the rows that are summed into one segment.
    host_launches: the launches of a batch of which the time in Python is measured: fewer than a stream queues before
        its caller has to wait; host_batches: these batches; replays: those of a graph in each batch.
    """

    copy: int
    rotated: int
    rotated_from: int
    most_sets: int
    filler: int
    batch_seconds: float
    most_launches: int
    most_fills: int
    rounds: int
    elements: int
    ids: int
    host_launches: int
    host_batches: int
    replays: int


GPU: Final = Scale(
    copy=2**30,
    rotated=2**28,
    rotated_from=2**20,
    most_sets=64,
    filler=2**29,
    batch_seconds=4e-4,
    most_launches=64,
    most_fills=32,
    rounds=7,
    elements=2**26,
    ids=500_000,
    host_launches=100,
    host_batches=50,
    replays=10,
)
SMALL: Final = Scale(
    copy=2**16,
    rotated=2**12,
    rotated_from=2**6,
    most_sets=2,
    filler=2**10,
    batch_seconds=0,
    most_launches=3,
    most_fills=1,
    rounds=3,
    elements=2**10,
    ids=600,
    host_launches=3,
    host_batches=2,
    replays=2,
)
