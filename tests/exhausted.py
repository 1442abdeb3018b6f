"""Code for a process whose memory is exhausted during a launch."""

import sys

import pytest

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the size of the address space is read from Linux")

STARVED = """
import ctypes, mmap, resource
from pathlib import Path
import numpy as np
import ep

# memory that other threads have freed is in heaps of their own
ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU).SetNumThreads(1)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
held = np.zeros(1 << 18, np.uint64)
LEAST = 1024  # the bytes of the smallest piece that is taken

def starved(launch):
    "Return what a launch raises while no memory is left."
    (soft, hard), size, count, raised = resource.getrlimit(resource.RLIMIT_AS), 1 << 26, 0, None
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used, hard))
    try:
        while size >= LEAST:
            got = libc.malloc(size)
            if got:
                held[count] = got
                count += 1
            else:
                size //= 2
        try:
            launch()
        except MemoryError as error:
            raised = error
    finally:
        for place in range(count):
            libc.free(int(held[place]))
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return raised
"""
