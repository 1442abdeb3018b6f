"""The costs of launches on the host: how often they call the driver and functions of the package."""

import json

from tests.cuda.stub import BEGIN, needs_stub

pytestmark = needs_stub

COUNTS = f"""
import ctypes, json, sys, types
from collections import Counter
from pathlib import Path
from cuda.bindings import driver as real
from ep.cuda.driver.cuda_driver import CudaDriver
calls, kept, P, U = Counter(), [], ctypes.c_void_p, ctypes.c_uint
def cuGetProcAddress(name, *arguments):
    # compiled code calls addresses: this one counts
    result, address, status = real.cuGetProcAddress(name, *arguments)
    kinds = {{b"cuLaunchKernel": [P, *[U] * 7, P, P, P], b"cuPointerGetAttribute": [P, U, P]}}.get(name)
    form = ctypes.CFUNCTYPE(U, *kinds or [P] * (1 + (name == b"cuStreamIsCapturing")))
    function = form(int(address))
    def call(*arguments):
        calls[name.decode()] += 1
        return function(*arguments)
    kept.append(form(call))
    return result, ctypes.cast(kept[-1], P).value, status
class Counting(types.ModuleType):
    def __getattr__(self, name):
        found = getattr(real, name)
        if not name.startswith("cu") or isinstance(found, type):
            return found
        def call(*arguments):
            calls[name] += 1
            return found(*arguments)
        call.__name__ = name
        self.__dict__[name] = call
        return call
CudaDriver._cuda = Counting("counting")
CudaDriver._cuda.cuGetProcAddress = cuGetProcAddress
{BEGIN}
import numpy as np
import ep.ops
from ep.cuda.arrays.streams import default_stream
from ep.include.primitive import *
cuda.SetAsActiveDevice()
stream, C, R = default_stream(0), DeviceType.kCUDA, RequirePrimitive
x, y, o = (cuda.Alloc(AllocationOptions(), 4096).view("float32") for _ in range(3))
ids = cuda.Alloc(AllocationOptions(), 128).view("int64")
relu = R(ElementwiseUnaryFactory, C, UnaryOp.kRelu, "float32", "float32")
add = R(BroadcastElementwiseBinaryFactory, C, BinaryOp.kAdd, "float32", "float32", 2)
gather = R(GatherFactory, C, "float32", "int64")
softmax = R(SoftmaxFactory, C, "float32")
total = R(ReduceFactory, C, ReduceOp.kSum, "float32", 2)
segments = R(UnsortedSegmentSumFactory, C, "float32", "int64")
many = cuda.Alloc(AllocationOptions(), 2**22).view("float32")
array = ep.ops.copy_to_device(np.ones(1024, np.float32), C)
class Foreign:
    def __init__(self, buffer):
        self.__cuda_array_interface__ = {{**buffer.__cuda_array_interface__, "stream": 1}}
on_default_stream = Foreign(x), Foreign(o)
array_of_ids = ep.ops.copy_to_device(np.arange(16), C)
columns_above = ep.ops.greater(array, 0.0)
columns, given = array.reshape(16, 64), ep.ops.copy_to_device(np.ones(1024, np.float32), C)
work = {{
    "relu": lambda: relu.Launch(stream, x, o, 1024),
    "add": lambda: add.Launch(stream, (4, 256), x, (4, 256), y, o),
    "add a number": lambda: add.Launch(stream, (4, 256), x, (), np.float32(2.5), o),
    "gather": lambda: gather.Launch(stream, 1, 64, 16, x, 16, ids, o),
    "softmax": lambda: softmax.Launch(stream, 4, 256, x, o),
    "wide softmax": lambda: softmax.Launch(stream, 4, 12_260, many, many),
    "sum in two stages": lambda: total.Launch(stream, (1, 2**20), many, (1,), o),
    "segment sum": lambda: segments.Launch(stream, 1, 64, 16, x, 16, ids, o),
    "ops.relu": lambda: ep.ops.relu(array),
    "ops.add": lambda: ep.ops.add(array, array),
    "ops.gather": lambda: ep.ops.gather(array, array_of_ids),
    "ops.softmax of columns": lambda: ep.ops.softmax(columns, axis=0),
    "ops.add with out": lambda: ep.ops.add(array, array, out=given),
    "ops.mul by a number": lambda: ep.ops.mul(array, 2.5),
    "ops.where with a number": lambda: ep.ops.where(columns_above, array, -1.5),
    "ops.concat": lambda: ep.ops.concat([array, array]),
    "relu of arrays of the default stream": lambda: relu.Launch(stream, *on_default_stream, 1024),
    "relu on the default stream": lambda: relu.Launch(CudaStream.from_handle(1, 0), x, o, 1024),
}}
"""


def test_calls_of_the_driver(python):
    """A launch is one call; an operator also asks whether its stream is captured before it allocates memory."""
    code = f"""{COUNTS}
found = {{}}
for name, launch in work.items():
    for _ in range(3):
        launch()
    calls.clear()
    for _ in range(10):
        launch()
    found[name] = {{call: count / 10 for call, count in calls.items()}}
print(json.dumps(found))
"""
    found = json.loads(python("-c", code)[-1])
    for name in ("relu", "add", "gather", "softmax", "wide softmax"):
        assert found[name] == {"cuLaunchKernel": 1}, name
    for name, kernels in (("sum in two stages", 2), ("segment sum", 4)):
        # memory for what the first kernels compute is the stream's, unless launches are captured
        assert found[name] == {"cuLaunchKernel": kernels, "cuStreamIsCapturing": 1, "cuCtxGetCurrent": 1}, name
    for name, kernels in (("ops.relu", 1), ("ops.add with out", 1), ("ops.softmax of columns", 3)):
        assert found[name] == {"cuLaunchKernel": kernels, "cuStreamIsCapturing": 1}, name
    # CUDA orders the default stream with the streams of CreateStream, so no event is needed
    on_arrays = found["relu of arrays of the default stream"]
    assert on_arrays == {"cuLaunchKernel": 1, "cuPointerGetAttribute": 2}
    assert found["relu on the default stream"] == {"cuLaunchKernel": 1, "cuCtxGetCurrent": 1}


def test_streams_that_wait_for_each_other_share_events(python):
    code = f"""{COUNTS}
others = [cuda.CreateStream() for _ in range(2)]
waits = lambda: others[0].wait_for(others[1].handle)
waits()
calls.clear()
for _ in range(10):
    waits()
print(json.dumps(calls))
"""
    found = json.loads(python("-c", code)[-1])
    once = "cuEventRecord", "cuStreamWaitEvent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuStreamIsCapturing"
    assert found == dict.fromkeys(once, 10)


def test_calls_of_python(python):
    """A known launch calls no function of the package; a known call of an operator calls few, which take most of its
    time on the host."""
    code = f"""{COUNTS}
package, found = str(Path(ep.ops.__file__).parents[1]), {{}}
for name, launch in work.items():
    frames = []
    for _ in range(3):
        launch()
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code) if event == "call" else None)
    launch()
    sys.setprofile(None)
    found[name] = sum(code.co_filename.startswith(package) for code in frames)
print(json.dumps(found))
"""
    found = json.loads(python("-c", code)[-1])
    most = {
        "relu of arrays of the default stream": 2,
        "relu on the default stream": 11,
        "ops.relu": 8,
        "ops.add": 8,
        "ops.gather": 18,
        "ops.softmax of columns": 18,
        "ops.add with out": 14,
        "add a number": 3,
        "ops.mul by a number": 14,
        "ops.where with a number": 14,
        "ops.concat": 60,
    }
    for name, calls in found.items():
        assert calls <= most.get(name, 0), (name, calls)


def test_a_model_that_a_graph_repeats(python):
    """Each input and each result is copied; launches cost nothing on the host, however many there are."""
    code = f"""{COUNTS}
from ep.cuda.arrays.graph_recording import GraphRecording
from ep.onnx import load
from tests.onnx.test_models import model_of
GraphRecording.digest = lambda *_: ""  # the mock computes nothing
package, found = str(Path(ep.ops.__file__).parents[1]), []
for layers in (2, 20):
    nodes = [("Mul", ["x", "y"], ["h0"])]
    for k in range(layers):
        nodes += [("Softmax", [f"h{{k}}"], [f"s{{k}}"]), ("Transpose", [f"s{{k}}"], [f"h{{k + 1}}"])]
    nodes += [("Softmax", [f"h{{layers}}"], ["z"]), ("ReduceMax", ["z"], ["most"])]
    inputs = [(name, (24, 24)) for name in "xy"]
    model = load(model_of(nodes, inputs, [("z", (24, 24)), ("most", (1, 1))]), "cuda")
    given = {{name: ep.ops.copy_to_device(np.ones((24, 24), np.float32), C) for name in "xy"}}
    for _ in range(3):
        results = model(**given)
    calls.clear()
    for _ in range(10):
        results = model(**given)
    counts, frames = {{call: count / 10 for call, count in calls.items()}}, []
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code) if event == "call" else None)
    model(**given)
    sys.setprofile(None)
    found.append([counts, sum(code.co_filename.startswith(package) for code in frames)])
print(json.dumps(found))
"""
    few, many = json.loads(python("-c", code)[-1])
    # whether the stream is captured is asked once, and before each result is allocated
    context = {"cuCtxPushCurrent": 1, "cuCtxPopCurrent": 1}
    assert few[0] == {"cuGraphLaunch": 1, "cuMemcpyAsync": 2 + 2, "cuStreamIsCapturing": 1 + 2, **context}
    assert many == few
    assert few[1] <= 100


def test_contexts(python):
    """A context is entered only if another one is current, or none, and left again."""
    code = f"""{COUNTS}
import threading
def calls_of(name):
    calls.clear()
    work[name]()
    print(json.dumps(calls))
for name in ("segment sum", "relu on the default stream"):
    for _ in range(3):
        work[name]()
for name in ("relu", "segment sum", "relu on the default stream"):
    thread = threading.Thread(target=calls_of, args=(name,))
    thread.start()
    thread.join()
cuda.driver.set_current_device(1)
calls_of("relu on the default stream")
assert cuda.driver.current_device() == 1
"""
    relu, segments, default, other = [json.loads(line) for line in python("-c", code)[-4:]]
    entered = {"cuCtxGetCurrent": 1, "cuCtxPushCurrent": 1, "cuCtxPopCurrent": 1}
    assert segments == {"cuLaunchKernel": 4, "cuStreamIsCapturing": 1, **entered}
    assert default == other == {"cuLaunchKernel": 1, **entered}
    assert relu["cuLaunchKernel"] <= 2
