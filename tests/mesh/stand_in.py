"""A mock of an MPI communicator, which records the data that it receives."""

import ctypes

import numpy as np


class Alike:
    """A communicator of two ranks, both of which have the data that the first one passes."""

    size, rank = 2, 0

    def __init__(self, kinds="mpi,system"):
        self.kinds, self.given = kinds, []

    def Get_info(self):
        return {"mpi_memory_alloc_kinds": self.kinds}

    def Allgatherv(self, source, target):
        self.given.append((source, target))
        _, (counts, places), _ = target
        assert counts == [source[1]] * 2
        if source[1] < 2**20:
            for place in places:
                ctypes.memmove(address(target[0]) + place, address(source[0]), source[1])


def address(memory):
    return memory.ctypes.data if isinstance(memory, np.ndarray) else memory.address
