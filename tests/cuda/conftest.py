"""The CUDA device under test: a GPU or Numba's simulator, where the run was asked for with `--device cuda`."""

import pytest

from ep import DeviceManagerRegistry, DeviceType


def pytest_collection_modifyitems(config, items):
    """Tests that need the device are part of a run for it, and of no other."""
    if "cuda" not in (config.getoption("--device") or []):
        needing = [item for item in items if "cuda" in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if "cuda" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=needing)


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
