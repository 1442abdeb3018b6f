"""The CUDA device under test: a GPU, or the machine that runs PTX. Tests that take `cuda` need `--ep-device cuda`."""

import pytest

from ep import DeviceManagerRegistry, DeviceType
from tests.cuda.stub import folder, forked, python

__all__ = ["cuda", "folder", "forked", "python", "stream"]


@pytest.fixture
def cuda():
    """CUDA device 0."""
    return DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)


@pytest.fixture
def stream(cuda):
    """A stream of CUDA device 0."""
    stream = cuda.CreateStream()
    yield stream
    cuda.DestroyStream(stream)
