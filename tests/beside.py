"""Code that runs in processes with an example of a device: it has few primitives, another device the others."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.forked import forking
from tests.subprocesses import SOURCES

_BEGIN = """
import numpy as np
import ml_dtypes, numba
import ep, ep_numpy_device
from ep import ops
from ep.common.host.arrays import WrappedArray as NumpyArray, WrappedArrays as NumpyArrays
TAG = "numpy"
"""

_WHY_NOT = """
from ep import DeviceManagerRegistry, DeviceType
print(DeviceManagerRegistry.GetDeviceManager(DeviceType.FromTag(TAG)).WhyUnavailable() or "")
"""

EXAMPLES = [tag for tag in ("numpy", "opencl") if Path(f"{SOURCES}/examples/ep_{tag}_device").exists()]
"""The tags of the examples."""

BOUNDS = {"numpy": 0.0, "opencl": 1e-6}
"""By example, the largest difference from the CPU, as a part of the largest number of a result.

NumPy's functions of the example give the CPU's bits. OpenCL's exp and log are within 4 ulp, and its sums are in another
order.
"""


@pytest.fixture(scope="session")
def run_beside() -> Iterator[Callable[..., str]]:
    """Yield a function that is like `run_forked`, with the device of NumPy, and the names that _BEGIN imports."""
    with forking(_BEGIN, *(f"{SOURCES}/examples/ep_{tag}_device" for tag in EXAMPLES)) as run_forked:
        yield lambda code, **more: run_forked(f"{_BEGIN}{code}", **more)


@pytest.fixture(params=EXAMPLES)
def run_on_example(request, run_beside) -> Callable[..., str]:
    """Return a function that is like `run_beside`, for each example of a device: TAG is its tag, BOUND its bound."""
    begin = f"TAG, BOUND = {request.param!r}, {BOUNDS[request.param]}\nimport ep_{request.param}_device\n"
    if why := run_beside(begin + _WHY_NOT).strip():
        pytest.skip(why)
    return lambda code, **more: run_beside(begin + code, **more)


TANH = """
from ep.include.primitive import ElementwiseUnary, ElementwiseUnaryFactory, Key, UnaryOp, implements
launched = []

def register_tanh():
    @implements(
        ElementwiseUnaryFactory, on=ep_numpy_device.kNumpy, keys={Key(UnaryOp.kTanh, (ep.DataType.kFloat,) * 2)}
    )
    class NumpyTanh(ElementwiseUnary):
        def Launch(self, stream, src, dst, count):
            launched.append("tanh")
            dst[...] = np.tanh(src)
"""
"""Code with a function that adds tanh to the primitives of the device, and the list of its launches."""
