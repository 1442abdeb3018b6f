"""The CUDA device under test: a GPU or Numba's simulator, where the run was asked for with `--device cuda`."""

import pytest

from ep import DeviceManagerRegistry, DeviceType


@pytest.fixture
def cuda(request):
    """CUDA device 0."""
    if "cuda" not in (request.config.getoption("--device") or []):
        pytest.skip("needs --device cuda")
    return DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)


@pytest.fixture
def stream(cuda):
    """A stream of it."""
    stream = cuda.CreateStream()
    yield stream
    cuda.DestroyStream(stream)
