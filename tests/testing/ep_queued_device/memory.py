"""Buffers in the memory of the device, which the host cannot access."""

import threading
import weakref

import numpy as np

from ep.include import kMaxAlignmentRequirement
from ep.include.errors import ArgumentValueError

CAPACITY = 2**28


class Memory:
    """The memory that the device has left. Blocks that were freed are used again for the same size."""

    def __init__(self):
        self.left, self._freed, self._lock = CAPACITY, {}, threading.Lock()

    def take(self, size):
        """Return a new block; MemoryError if too little memory is left."""
        with self._lock:
            if size > self.left:
                raise MemoryError(f"{size} bytes are asked for, and {self.left} are left")
            self.left -= size
            freed = self._freed.get(size)
            array = freed.pop() if freed else np.empty(size + kMaxAlignmentRequirement, np.uint8)
        return Block(self, array, size)

    def give_back(self, array, size):
        with self._lock:
            self.left += size
            self._freed.setdefault(size, []).append(array)


class Block:
    """Bytes of the device. They are freed once: by `free`, or with the last buffer in them."""

    def __init__(self, memory, array, size):
        begin = -array.ctypes.data % kMaxAlignmentRequirement
        self.bytes, self.is_freed = array[begin : begin + size], False
        self._finalizer = weakref.finalize(self, memory.give_back, array, size)

    def free(self):
        self.is_freed = True
        self._finalizer()


class Buffer:
    """Adjacent elements of a block."""

    def __init__(self, block, elements):
        self.block, self._elements = block, elements
        self.dtype, self.size, self.nbytes = elements.dtype, elements.size, elements.nbytes
        self.address = elements.ctypes.data

    def view(self, dtype):
        return Buffer(self.block, self._elements.view(dtype))

    def __getitem__(self, key):
        return Buffer(self.block, self._elements[key])

    def elements(self, argument):
        """Return the elements as an array; ValueError if the memory was freed."""
        if self.block.is_freed:
            raise ArgumentValueError(argument, "is in memory that was freed")
        return self._elements

    def copy_from_host(self, array, stream):
        elements, array = self.elements("buffer"), np.array(array)
        stream.queue(lambda: np.copyto(elements, array))

    def copy_to_host(self, stream):
        elements = self.elements("buffer")
        stream.Sync()
        return elements.copy()
