"""The CUDA device under test: a GPU or Numba's simulator. Tests that take `cuda` run with `--ep-device cuda` alone."""

import pytest

from ep import DeviceManagerRegistry, DeviceType
from tests.cuda.stub import folder, python

__all__ = ["cuda", "folder", "python", "stream"]


@pytest.fixture
def cuda():
    """CUDA device 0."""
    return DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)


@pytest.fixture
def stream(cuda):
    """A stream of it."""
    stream = cuda.CreateStream()
    yield stream
    cuda.DestroyStream(stream)
