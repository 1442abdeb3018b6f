"""The example device of OpenCL: the conformance suite on it, and what the suite does not know of it."""

import re
import subprocess
import sys

import pytest

from tests.subprocesses import SOURCES, environment_of, run

EXAMPLE = f"{SOURCES}/examples/ep_opencl_device"

BEGIN = """
import numpy as np
import pytest
import ep, ep_opencl_device
from ep import AllocationOptions, DeviceManagerRegistry, RequirePrimitive, ops
from ep.include.primitive import FillFactory
from ep_opencl_device.opencl import OpenCLError, cl

device = DeviceManagerRegistry.GetDevice(ep_opencl_device.kOpenCL, 0)
"""


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """Return the variables of processes that use the device; pocl keeps its kernels in a folder of the tests."""
    folder = tmp_path_factory.mktemp("pocl")
    variables = {"POCL_CACHE_DIR": str(folder), "PYOPENCL_NO_CACHE": "1"}
    why = "from ep_opencl_device.manager import OpenCLDeviceManager; print(OpenCLDeviceManager().WhyUnavailable())"
    if (said := run(why, EXAMPLE, **variables).strip()) != "None":
        pytest.skip(f"no device of OpenCL: {said}")
    return variables


@pytest.fixture
def run_opencl(kernels):
    """Return a function that runs code after BEGIN in a process of its own."""
    return lambda code: run(BEGIN + code, EXAMPLE, **kernels)


def test_a_case_of_each_test_of_the_suite_passes(kernels, request):
    """With each commit other cases: all of them take minutes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ep_opencl_device", "-p", "no:cacheprovider", "ep/testing"]
    turn = f"--ep-turn={request.config.getoption('ep_turn')}"
    variables = {name: value for name, value in environment_of([EXAMPLE], kernels).items() if "PYTEST" not in name}
    done = subprocess.run(
        [*command, "--ep-device", "opencl", turn], cwd=SOURCES, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 150, done.stdout
    assert "opencl: tested: device, memory, streams, events, Fill (16 keys), " in done.stdout


def test_work_that_fails_is_an_error_of_the_call_that_waits_for_it(run_opencl):
    run_opencl("""
fill = RequirePrimitive(FillFactory, ep_opencl_device.kOpenCL, "float32")
buffer = device.Alloc(AllocationOptions(), 28).view(np.float32)
for wait in (lambda stream: stream.Sync(), lambda stream: buffer.copy_to_host(stream)):
    stream, event, lost = device.CreateStream(), device.CreateEvent(), cl.UserEvent(device.context)
    stream.queue(cl.enqueue_barrier, after=[lost])
    fill.Launch(stream, buffer, 3, 7)
    stream.RecordEvent(event)
    assert not event.QueryDone()
    lost.set_status(-5)
    with pytest.raises((OpenCLError, MemoryError)):
        wait(stream)
    with pytest.raises((OpenCLError, MemoryError)):
        event.Sync()
    fill.Launch(stream, buffer, 4, 7)
    assert buffer.copy_to_host(stream).tolist() == [4] * 7  # an error is reported once
""")


def test_a_stream_that_waits_for_failed_work_fails(run_opencl):
    run_opencl("""
first, second, event = device.CreateStream(), device.CreateStream(), device.CreateEvent()
lost = cl.UserEvent(device.context)
first.queue(cl.enqueue_barrier, after=[lost])
first.RecordEvent(event)
second.WaitEvent(event)
lost.set_status(-5)
with pytest.raises((OpenCLError, MemoryError)):
    second.Sync()
""")


def test_what_cannot_be_compiled_or_allocated_is_an_error(run_opencl):
    run_opencl("""
with pytest.raises(OpenCLError, match="compiling a kernel"):
    device.kernel("__kernel void f() { nonsense; }")
for size in (2**60, device.opencl_device.max_mem_alloc_size + 1):
    with pytest.raises(MemoryError):
        device.Alloc(AllocationOptions(), size)
""")


def test_functions_that_are_fused_are_one_kernel(run_opencl):
    said = run_opencl("""
def norm(x, scale):
    rest = x - ops.mean(x, axis=-1, keepdims=True)
    return ops.gelu(rest / ops.sqrt(ops.mean(rest * rest, axis=-1, keepdims=True) + 1e-5) * scale)

def gate(x, scale):
    return ops.where(x > 0, ops.sigmoid(x * scale), ops.softmax(x))

rng = np.random.default_rng(5)
given = rng.standard_normal((3, 37), np.float32), rng.standard_normal(37, np.float32)
there = [ops.copy_to_device(one, "opencl") for one in given]
for function in (norm, gate):
    fused = ep.fuse(function)
    for _ in range(2):
        found = ops.copy_to_host(fused(*there))
        np.testing.assert_allclose(found, function(*given), rtol=1e-5, atol=1e-6)
    print(fused.explain(*there))
""")
    assert re.findall(r"^(\d+): (\w+) kernel of", said, re.MULTILINE) == [("0", "row"), ("0", "row")], said


def test_arrays_have_the_operators_of_python(run_opencl):
    run_opencl("""
x = ops.copy_to_device(np.float32([[1, 2, 3], [4, 5, 6]]), "opencl")
assert ops.copy_to_host((x @ x.T + 1) * x.sum()).tolist() == [[315, 693], [693, 1638]]
assert (x.ndim, len(x), x.nbytes) == (2, 2, 24) and "on opencl:0" in repr(x)
for refused in (bool, np.asarray):
    with pytest.raises(TypeError, match="copy_to_host"):
        refused(x)
""")


def test_why_there_is_no_device(tmp_path):
    """An absent package or platform is named."""
    said = run(
        """
import sys
sys.modules["pyopencl"] = None
import ep, ep_opencl_device
manager = ep.DeviceManagerRegistry.GetDeviceManagerOrNull(ep_opencl_device.kOpenCL)
assert manager.GetDeviceCount() == 0
try:
    ep.DeviceManagerRegistry.GetDevice(ep_opencl_device.kOpenCL, 0)
except ep.DeviceUnavailableError as error:
    print(error)
""",
        EXAMPLE,
    )
    assert "there is no OpenCL device: OpenCL cannot be used: " in said
    assert "pip install pyopencl pocl-binary-distribution" in said


def test_importing_it_loads_nothing():
    run(
        "import sys, ep_opencl_device; assert not {'pyopencl', 'numba'} & {*sys.modules}",
        EXAMPLE,
    )
