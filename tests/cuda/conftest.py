"""The CUDA device under test: a GPU, or the machine that runs PTX. Tests that take `cuda` need `--ep-device cuda`."""

from dataclasses import replace

import pytest

from ep import DeviceManagerRegistry, DeviceType
from tests.cuda.ptx_machine.driver import PtxDriver
from tests.cuda.stub import folder, forked, python

__all__ = ["cuda", "folder", "forked", "python", "shared_memory", "stream"]


@pytest.fixture
def cuda():
    """CUDA device 0."""
    return DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)


@pytest.fixture
def shared_memory(cuda, monkeypatch):
    """A function that sets the largest shared memory of a block, in bytes; a GPU has no more than its own."""

    def give(size):
        if isinstance(cuda.driver, PtxDriver):
            monkeypatch.setattr(cuda.driver.limits, "shared_bytes", size)
        properties = cuda.driver.properties(0)
        most = min(size, properties.shared_bytes_per_block)
        monkeypatch.setitem(vars(cuda), "properties", replace(properties, shared_bytes_per_block=most))

    return give


@pytest.fixture
def stream(cuda):
    """A stream of CUDA device 0."""
    stream = cuda.CreateStream()
    yield stream
    cuda.DestroyStream(stream)
