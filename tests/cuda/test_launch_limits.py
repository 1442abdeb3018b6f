"""Launches of every engine on both sides of each limit: on the stub with the limits of an H200, and with results."""

import re

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from ep import DataType, DeviceType, RequirePrimitive
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.launch_config import Grid
from ep.cuda.compile.loader import load
from ep.cuda.compile.numba_cuda import shared_array, thread_of_block
from ep.cuda.driver.current import driver
from ep.ops import copy_to_host
from ep.testing.device_under_test import DeviceUnderTest
from tests.cuda.launch_limits import FLOATS, NONE, OPT_IN, ROWS, SOFTMAXES, WALKS, WITHOUT, Launches, softmaxes
from tests.cuda.stub import BEGIN, IMPORTS, needs_stub
from tests.forked import forking
from tools.search_paths import extended


@pytest.fixture(scope="module")
def forked_with_launches(folder):
    """A function that runs code on the stub, in forks of an interpreter that has the launches."""
    with forking(
        f"{IMPORTS}\nimport tests.cuda.launch_limits", LD_LIBRARY_PATH=extended("LD_LIBRARY_PATH", folder)
    ) as run_forked:
        yield run_forked


@pytest.mark.ep_long
class TestOnTheStub:
    """The driver refuses what an H200 would."""

    pytestmark = needs_stub

    @pytest.mark.parametrize("name", WALKS)
    def test_launches_on_both_sides_of_each_limit(self, forked_with_launches, name):
        forked_with_launches(f"""
from tests.cuda.launch_limits import WALKS, Launches
walk = WALKS[{name!r}]
launches = Launches(walk.make())
for size in launches.borders(walk.sizes):
    launches.queue(size)
assert launches.sides >= walk.sides, launches.sides
""")

    def test_the_first_opt_in_during_a_capture(self, python):
        """It is neither part of the graph nor the end of the capture."""
        code = f"""{BEGIN}
from tests.cuda.graph import Graph
from tests.cuda.launch_limits import softmaxes
stream, softmax = cuda.CreateStream(), softmaxes("softmax", DataType.kFloat, 300, 20_000)
softmax(stream, 9000)
print(Graph(stream, lambda: [softmax(stream, cols) for cols in (12_260, 20_000)]).number)
"""
        lines = python("-c", code, STUB_LOG="1")
        assert not [line for line in lines if "SPOILT" in line]
        assert sum(line.startswith("attribute 8 ") for line in lines) == 1

    def test_each_device_is_asked(self, python):
        code = f"""{BEGIN}
from ep.include.primitive import SoftmaxFactory
softmax = RequirePrimitive(SoftmaxFactory, DeviceType.kCUDA, "float32")
for index in (0, 1):
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, index)
    device.SetAsActiveDevice()
    stream, x = device.CreateStream(), device.Alloc(AllocationOptions(), 300 * 12_260 * 4).view("float32")
    for _ in range(4):
        softmax.Launch(stream, 300, 12_260, x, x)
"""
        asked = [line for line in python("-c", code, STUB_LOG="1") if line.startswith("attribute 8 ")]
        assert [re.search(r"device \d", line)[0] for line in asked] == ["device 0", "device 1"]


def test_more_shared_memory_than_the_device_has(cuda):
    """It is an error before the launch; the most that there is can be launched."""
    static, dynamic = shared_array(10, np.int64), shared_array(0, np.int64)

    def kernel(count):
        numbers, place = static(), thread_of_block() % 10
        numbers[place] = count
        dynamic()[0] = numbers[place]

    loaded = load(driver(), 0, KernelSource("test.more_shared", kernel))
    stream, most = cuda.CreateStream(), cuda.properties.shared_bytes_per_block
    assert loaded.static_shared == 80
    loaded.launch_grid(stream, Grid((1, 1, 1), (1, 1, 1), most - 80), 3)
    with pytest.raises(RuntimeError) as raised:
        loaded.launch_grid(stream, Grid((1, 1, 1), (1, 1, 1), most - 79), 3)
    assert str(raised.value) == (
        f"test.more_shared: a block needs {most + 1} bytes of shared memory (80 static, {most - 79} dynamic), and "
        f"{cuda.properties.name} has {most} for a block"
    )


RESULTS = {
    "softmax": lambda x: softmax(x, -1),
    "log_softmax": lambda x: log_softmax(x, -1),
    "softmax_backward": lambda y, dy: (dy - np.sum(y * dy, -1, keepdims=True)) * y,
    "log_softmax_backward": lambda y, dy: dy - np.exp(y) * np.sum(dy, -1, keepdims=True),
    "doubled softmax": lambda x: softmax(2 * x, -1),
    "layer norm": lambda x, w, b: (
        (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + 1e-5) * w + b
    ),
    "norm of many": lambda *xs: sum(x * x for x in xs) * np.sum(sum(x * x for x in xs), -1, keepdims=True),
}
"""In float64."""

ERRORS = {DataType.kFloat: 1e-5, DataType.kDouble: 1e-12, DataType.kFloat16: 2.0**-9, DataType.kBFloat16: 2.0**-6}


def check(found, name, arrays, data_type):
    expected = RESULTS[name](*(array.astype(np.float64) for array in arrays))
    np.testing.assert_allclose(found.astype(np.float64), expected, ERRORS[data_type], ERRORS[data_type])


class TestResults:
    """The machine that runs PTX has so little shared memory that rows of few columns are at its limits."""

    @pytest.mark.parametrize("data_type", FLOATS, ids=str)
    @pytest.mark.parametrize("name", SOFTMAXES)
    def test_softmaxes(self, cuda, rng, name, data_type):
        gpu, (factory, operands) = DeviceUnderTest(DeviceType.kCUDA), SOFTMAXES[name]
        most = 3 * cuda.properties.shared_bytes_per_block // data_type.itemsize
        launches = Launches(softmaxes(name, data_type, 3, most))
        borders = launches.borders(range(264, most, 16 // data_type.itemsize))
        assert launches.sides >= {OPT_IN, NONE}
        for cols in borders:
            arrays = [rng.normal(size=(3, cols)).astype(data_type.dtype) for _ in range(operands)]
            dst = gpu.empty(3 * cols, data_type)
            buffers = [gpu.buffer(array.reshape(-1)) for array in arrays]
            RequirePrimitive(factory, DeviceType.kCUDA, data_type).Launch(gpu.stream, 3, cols, *buffers, dst)
            check(gpu.array(dst, (3, cols)), name, arrays, data_type)

    @pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kDouble], ids=str)
    def test_fused_rows(self, cuda, rng, data_type):
        sides = set()
        for name, case in ROWS.items():
            launches = Launches(case.launch(data_type.dtype))
            for cols in launches.borders(range(8, case.most, 8)):
                arrays = []

                def draw(shape, arrays=arrays):
                    arrays.append(rng.normal(size=shape).astype(data_type.dtype))
                    return arrays[-1]

                check(copy_to_host(case.call(cols, draw)), name, arrays, data_type)
            sides |= launches.sides
        assert sides == {WITHOUT, OPT_IN, NONE}
