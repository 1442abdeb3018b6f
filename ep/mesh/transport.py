"""Communication between ranks by MPI: two collective operations on the bytes of flat arrays.

MPI sees elements as bytes, so all data types are handled in the same way. It computes no sums: they would depend on the
algorithm that it chooses. Counts are in bytes and may be above 2^31, which MPI 4 supports. An array of a GPU is passed
to MPI directly if MPI reports support for such memory; else it goes through memory of the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ep.common.lazy import lazy
from ep.include.arrays import Array, Arrays
from ep.mesh import report
from ep.mesh.world import mpi, world


class Group:
    """The ranks along one axis of a mesh."""

    def __init__(self, comm: Any) -> None:
        """comm: the communicator of these ranks, in order."""
        self._comm = comm
        self.size: int = comm.size
        self.rank: int = comm.rank

    @lazy
    def _takes_cuda(self) -> bool:
        """Whether MPI reports support for memory of a GPU, in the way that MPI 4.1 defines."""
        kinds = self._comm.Get_info().get("mpi_memory_alloc_kinds") or ""
        return "cuda" in kinds.split(",")

    def all_gather(self, arrays: Arrays, piece: Array, sizes: Sequence[int]) -> Array:
        """Return the pieces of all ranks, in order, on every rank.

        piece: flat. sizes: the number of elements of each rank's piece.
        """
        item = piece.dtype.itemsize
        report.count(piece.nbytes * (self.size - 1))

        def send(source: Any, target: Any) -> None:
            self._comm.Allgatherv([source, piece.nbytes, mpi().BYTE], _message(target, sizes, item))

        return self._run(arrays, piece, sum(sizes), send)

    def all_to_all(self, arrays: Arrays, parts: Array, sizes: Sequence[int], received: Sequence[int]) -> Array:
        """Return the parts that all ranks have for this one, in order.

        parts: flat, the parts of this rank for each rank, in order.
        sizes: the number of elements for each rank. received: the number of elements from each rank.
        """
        item = parts.dtype.itemsize
        report.count((sum(sizes) - sizes[self.rank]) * item)

        def send(source: Any, target: Any) -> None:
            self._comm.Alltoallv(_message(source, sizes, item), _message(target, received, item))

        return self._run(arrays, parts, sum(received), send)

    def _run(self, arrays: Arrays, source: Array, size: int, send: Any) -> Array:
        """Fill a flat array of `size` elements from `source` with `send`, both in memory that MPI accepts."""
        is_direct = arrays.takes_host_arrays or self._takes_cuda

        def ready() -> tuple[Any, Any, Array]:
            if not is_direct:
                report.staged(arrays.place)
                on_host = np.empty((size,), source.dtype)
                return _memory(arrays.copy_to_host(source)), _memory(on_host), on_host
            target = arrays.destination((size,), source.dtype, None)
            arrays.stream.Sync()
            return _memory(source), _memory(target), target

        def exchange(memories: tuple[Any, Any, Array]) -> Array:
            send(*memories[:2])
            return memories[2]

        filled = world().collectively(ready, exchange)
        return filled if is_direct else arrays.copy_from_host(filled)


def _memory(array: Array) -> Any:
    """Return the bytes of a flat array, as MPI accepts them."""
    if isinstance(array, np.ndarray):
        return array.view(np.uint8)
    return mpi().buffer.fromaddress(array.address, array.nbytes)


def _message(memory: Any, sizes: Sequence[int], item: int) -> list[Any]:
    """Return the message for mpi4py: memory, and for each rank the number of bytes and their offset."""
    counts = [size * item for size in sizes]
    return [memory, (counts, [0, *accumulate(counts[:-1])]), mpi().BYTE]
