"""The caching allocator: freed device memory is kept, since allocating it again from CUDA is slow and waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ep.include.device import kMaxAlignmentRequirement
from ep.include.process import Rank, new_lock

if TYPE_CHECKING:
    from ep.cuda.driver.interface import Driver

_CLASSES_PER_DOUBLING: Final = 8


@dataclass(slots=True)
class MemoryBlock:
    """A piece of device memory from CUDA. `epoch`: when it was freed, as a number of fences."""

    address: int
    capacity: int
    epoch: int = 0


class Lease:
    """A block that is freed when the last reference to the lease is gone."""

    __slots__ = ("_free", "block")

    def __init__(self, block: MemoryBlock, free: Callable[[MemoryBlock], None]) -> None:
        self.block, self._free = block, free

    def __del__(self) -> None:
        self._free(self.block)


class HomeLease:
    """A lease of a block for the home stream. is_shared: whether other streams may use it, too."""

    __slots__ = ("_allocator", "block", "is_shared")

    def __init__(self, block: MemoryBlock, allocator: CachingAllocator) -> None:
        self.block, self._allocator, self.is_shared = block, allocator, False

    def __del__(self) -> None:
        if self.is_shared:
            self._allocator.free(self.block)
        else:
            self._allocator.free_at_home(self.block)


class CachingAllocator:
    """Allocates blocks in size classes, eight for each doubling, so at most an eighth is unused.

    Safe across streams: memory may be freed while work that uses it is still queued on streams of the device. A block
    is reused only after a *fence*, at which all streams wait for the work queued on the others; with only one stream,
    its order is enough, and the fence does nothing. The caller must wait for streams that the device does not know
    (those of another framework without a CudaStream at the time).

    Memory that only one stream has used, the *home* stream, is reused on it without a fence.
    """

    def __init__(self, driver: Driver, device: int, fence: Callable[[], None], wait: Callable[[], None]) -> None:
        """fence: makes all streams of the device wait for the work queued on the others so far; wait: waits for all
        work."""
        self._driver, self._device, self._fence_streams, self._wait = driver, device, fence, wait
        self._lock = new_lock(Rank.MEMORY)
        self._epoch = 0
        # by capacity, the longest free first; `free` appends without a lock
        self._free: dict[int, deque[MemoryBlock]] = {}
        self._at_home: dict[int, deque[MemoryBlock]] = {}  # those that only the home stream has used
        self._home_is_shared = False
        self._held = 0  # bytes of all blocks, allocated or cached

    def allocate(self, size: int) -> MemoryBlock:
        """Return a block of at least `size` > 0 bytes.

        Raises MemoryError, with figures, if it fails after the cache was emptied.
        """
        capacity = capacity_of(size)
        with self._lock:
            if blocks := self._free.get(capacity):
                block = blocks.popleft()
                if block.epoch == self._epoch:
                    self._fence()
                return block
            return self._new_block(size, capacity)

    def lease_at_home(self, size: int) -> HomeLease:
        """Return a lease of a block of at least `size` > 0 bytes for work on the home stream, as `allocate` does."""
        return self.lease_maker(size)()

    def lease_maker(self, size: int) -> Callable[[], HomeLease]:
        """Return the function that does what `lease_at_home` does."""
        blocks = self._at_home.setdefault(capacity_of(size), deque())

        def lease() -> HomeLease:
            try:
                block = blocks.pop()
            except IndexError:
                block = self.allocate(size)
            return HomeLease(block, self)

        return lease

    def share_home(self) -> None:
        """Free all blocks of the home stream as shared ones from now on: graphs use them on any stream."""
        self._home_is_shared = True

    def free_at_home(self, block: MemoryBlock) -> None:
        """Free a block that only the home stream has used. Takes no lock, as `free`."""
        if self._home_is_shared:
            self.free(block)
            return
        try:
            self._at_home[block.capacity].append(block)
        except KeyError:
            self._at_home.setdefault(block.capacity, deque()).append(block)

    def allocate_new(self, size: int) -> MemoryBlock:
        """Return a block that no work has ever used, on any stream; `free` takes it back.

        Raises the errors of `allocate`.
        """
        with self._lock:
            return self._new_block(size, capacity_of(size))

    def free(self, block: MemoryBlock) -> None:
        """Free a block. Takes no lock and calls no driver, since the garbage collector may call it anywhere."""
        block.epoch = self._epoch
        self._free[block.capacity].append(block)

    def fence(self) -> None:
        """Make every block that is free now safe for all streams."""
        with self._lock:
            self._fence()

    def empty(self) -> None:
        """Return all cached blocks to CUDA, after waiting for the work of all streams."""
        with self._lock:
            self._empty()

    def figures(self) -> tuple[int, int]:
        """Return the allocated bytes and the cached bytes."""
        with self._lock:
            cached = self._cached()
            return self._held - cached, cached

    def out_of_memory(self, size: int) -> MemoryError:
        """Return the error for a request that cannot be met."""
        free, total = self._driver.memory_info(self._device)
        cached = self._cached()
        return MemoryError(
            f"{size:,} bytes cannot be allocated on cuda:{self._device}: {free:,} of its {total:,} bytes are free; "
            f"ep has given out {self._held - cached:,} and caches {cached:,}"
        )

    def _new_block(self, size: int, capacity: int) -> MemoryBlock:
        for attempt in (capacity, _aligned(size)):  # the exact size if memory is short
            try:
                address = self._driver.alloc(self._device, attempt)
            except MemoryError:
                self._empty()
                continue
            self._held += attempt
            self._free.setdefault(attempt, deque())
            return MemoryBlock(address, attempt)
        raise self.out_of_memory(size)

    def _fence(self) -> None:
        self._epoch += 1  # first: what is freed while the streams are gone through may be missed by the fence
        self._fence_streams()

    def _empty(self) -> None:
        self._wait()
        for blocks in (*self._free.values(), *self._at_home.values()):
            with suppress(IndexError):  # another thread took the last one
                while blocks:
                    block = blocks.popleft()
                    self._held -= block.capacity
                    self._driver.free(self._device, block.address)
        self._driver.trim(self._device)

    def _cached(self) -> int:
        kept = (*self._free.items(), *self._at_home.items())
        return sum(capacity * len(blocks) for capacity, blocks in kept)


def capacity_of(size: int) -> int:
    """Return the size of the class that `size` > 0 belongs to."""
    step = max(kMaxAlignmentRequirement, (1 << (size - 1).bit_length()) // (2 * _CLASSES_PER_DOUBLING))
    return -(-size // step) * step


def _aligned(size: int) -> int:
    return -(-size // kMaxAlignmentRequirement) * kMaxAlignmentRequirement
