"""Captures on the mock of the driver's library, which ends a capture at every call that CUDA refuses during one."""

from tests.cuda.stub import BEGIN, needs_stub

pytestmark = needs_stub

CAPTURE = f"""{BEGIN}
import gc, sys
import numpy as np
import ep.ops
from ep.cuda.arrays.streams import default_stream
from tests.cuda.graph import Graph as capture
cuda.SetAsActiveDevice()
stream, options = default_stream(0), AllocationOptions()
"""


def test_operators(python):
    """A call allocates new memory, which is reused once the graph and all its instances are gone."""
    code = f"""{CAPTURE}
x = ep.ops.copy_to_device(np.zeros(5000, np.float32), DeviceType.kCUDA)
cached = {{ep.ops.relu(x).address for _ in range(3)}}
kept = []
graph = capture(stream, lambda: kept.append(ep.ops.relu(ep.ops.negative(x))))
own, size = kept[0].address, kept[0].nbytes
assert own not in cached
def free_addresses(count):
    taken = [cuda.Alloc(options, size) for _ in range(count)]
    return {{buffer.address for buffer in taken}}
kept.clear()
before = cuda.memory_figures()["allocated"]
assert own not in free_addresses(5)
graph.launch()
graph.destroy()
assert cuda.memory_figures()["allocated"] == before - 2 * 20480
assert own in free_addresses(9)
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if "SPOILT" in line]
    assert lines.count("object destroyed") == 1


def test_what_the_garbage_collector_finds(python):
    """Objects that the garbage collector finds do not wait for a device or a stream that is captured."""
    code = f"""{CAPTURE}
left, pinned, other = [cuda.CreateStream()], [cuda.AllocPinned(options, 100)], cuda.CreateStream()
unowned = [other.AllocAsync(100)]
cuda.DestroyStream(other)
x = cuda.Alloc(options, 512)
def work():
    left.clear()
    pinned.clear()
    unowned.clear()
    gc.collect()
    cuda.Reset()
    driver.fill(0, x.address, 1, 512, stream.handle)
    cuda.CreateStream()
    cuda.Alloc(options, 512)
graph = capture(stream, work)
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if "SPOILT" in line]
    words = [line.partition(" ")[0] for line in lines]
    during = lines[words.index("capture") : words.index("captured")]
    assert "free host memory" in during
    assert any(line.startswith("free ") for line in during)
    assert any(line.startswith("destroy ") for line in during)


def test_a_framework_that_does_not_capture_is_left_out(python):
    """Neither the stream of an operand's library nor the legacy stream joins a capture of ep's own stream."""
    code = f"""{CAPTURE}
x = ep.ops.copy_to_device(np.zeros(5000, np.float32), DeviceType.kCUDA)
class Array:
    def __init__(self, stream):
        self.__cuda_array_interface__ = {{**x.__cuda_array_interface__, "stream": stream}}
ep.ops.relu(x)
for other in (1, 0x7770):
    capture(stream, lambda: ep.ops.relu(Array(other))).destroy()
    capture(stream, lambda: x.__dlpack__(stream=other)).destroy()
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if "SPOILT" in line or "captured too" in line]


def test_a_framework_that_captures(python):
    """ep's stream joins the capture of an operand's stream, which then continues after ep's work."""
    code = f"""{CAPTURE}
x = ep.ops.copy_to_device(np.zeros(5000, np.float32), DeviceType.kCUDA)
ep.ops.relu(x)
other = cuda.CreateStream()
class Array:
    __cuda_array_interface__ = {{**x.__cuda_array_interface__, "stream": other.handle}}
def work():
    ep.ops.relu(Array())
    assert stream.is_capturing()
capture(other, work).destroy()
print(f"own {{stream.handle:#x}} other {{other.handle:#x}}")
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if "SPOILT" in line]
    _, own, _, other = lines[-1].split()
    begin = lines.index(f"{own} is captured too")
    assert f"{other} waits" in lines[begin:]


def test_fused_functions_and_blocks(python):
    """Maps, rows and reductions, intermediate results of kernels, and a number that is assigned to a whole array."""
    code = f"""{CAPTURE}
x, y = (ep.ops.copy_to_device(np.ones((4, 900), np.float32), DeviceType.kCUDA) for _ in range(2))
@ep.fuse
def several(x, rate):
    h = ep.ops.softmax(x * rate)
    return h, ep.ops.sum(ep.ops.square(h - 1.0), 0), ep.ops.mean(ep.ops.square(x), None)
def block():
    with ep.lazy() as lazy:
        of_x, of_y = lazy.view(x), lazy.view(y)
        of_x[...] = of_x * 0.5 + of_y
        of_y[...] = 3.0
def work():
    several(x, 0.5)
    block()
work()
capture(stream, work).destroy()
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if "SPOILT" in line]


MODEL = f"""{CAPTURE}
from ep.cuda.arrays.graph_recording import GraphRecording
from ep.onnx import load
from tests.onnx.test_models import model_of
GraphRecording.digest = lambda *_: ""  # the mock computes nothing
nodes = [("Softmax", ["x"], ["s"]), ("Concat", ["s", "x"], ["c"], {{"axis": 0}}), ("Softmax", ["c"], ["y"])]
nodes += [("Transpose", ["y"], ["t"]), ("Softmax", ["t"], ["z"])]
model = load(model_of(nodes, [("x", (2, 9))], [("z", (9, 4))]), "cuda")
x = ep.ops.copy_to_device(np.zeros((2, 9), np.float32), DeviceType.kCUDA)
"""


def test_a_model_and_other_streams(python):
    """A graph is captured on a stream of its own, and launched, between copies, on the stream of operators."""
    code = f"""{MODEL}
other = cuda.CreateStream()
class Array:
    shape, dtype = x.shape, x.dtype
    __cuda_array_interface__ = {{**x.__cuda_array_interface__, "stream": other.handle}}
for _ in range(3):
    print("run", file=sys.stderr)
    y = model(x=Array())
print("end", file=sys.stderr)
y[0].__dlpack__(stream=other.handle)
print("deleted", file=sys.stderr)
del model
print(f"own {{stream.handle:#x}} other {{other.handle:#x}}")
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if "SPOILT" in line or "captured too" in line]
    _, own, _, other = lines[-1].split()
    begin = next(line for line in lines if line.startswith("capture "))
    captured = begin.split()[1]
    assert begin == f"capture {captured} mode 2"
    assert f"stream {captured} flags 1" in lines  # CU_STREAM_NON_BLOCKING
    assert f"destroy {captured}" in lines
    runs = [number for number, line in enumerate(lines) if line == "run"]
    last = [line for line in lines[runs[2] : lines.index("end")] if not line.startswith("take ")]
    assert last[:3] == ["run", f"record on {other}", f"{own} waits"]
    assert last[3:6] == [f"copy 72 bytes on {own}", f"replay 0xb0 on {own}", f"copy 144 bytes on {own}"]
    assert last[6:] == [f"record on {own}", f"{other} waits"]  # its array may be changed after the copy
    end, deleted = lines.index("end"), lines.index("deleted")
    assert lines[end + 1 : deleted] == [f"record on {own}", f"{other} waits"]
    assert lines[deleted + 1] == "destroy executable 0xb0"


def test_a_model_with_a_kernel_that_waits_for_the_device(python):
    """What a function of another package does is not captured: Python does all runs."""
    code = f"""{MODEL}
from ep.ops.kernels import PreparedKernel, kernels_of, register_kernel
(own,) = kernels_of("concat")
@register_kernel("concat", priority=1)
class Waiting(PreparedKernel):
    def prepare(self, *given):
        launches = own.make(self.subject).prepare(*given)
        return lambda arrays, inputs, outputs: (inputs[0].copy_to_host(), launches(arrays, inputs, outputs))
for _ in range(4):
    (z,) = model(x=x)
print(z.shape)
"""
    lines = python("-c", code, STUB_LOG="1")
    assert not [line for line in lines if line.startswith(("captured ", "SPOILT", "instantiate", "replay"))]
    assert "(9, 4)" in lines
