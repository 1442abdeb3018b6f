"""The real driver wrapper, through the real `cuda.bindings`, on a mock of the driver's library.

The mock (`stub_driver.c`) computes nothing, but has memory, contexts, streams and events, so the whole device layer
runs on it. Properties that need a GPU are not tested here.
"""

import re
from pathlib import Path

import pytest

from tests.cuda.stub import BEGIN, cubin, needs_stub
from tests.subprocesses import SOURCES

pytestmark = needs_stub


@pytest.mark.parametrize("environment", [{}, {"STUB_MISALIGN": "1"}], ids=["aligned", "misaligned"])
def test_the_device_layer(python, environment):
    tests = [str(Path(__file__).with_name(name)) for name in ("test_device_layer.py", "test_buffers.py")]
    suite = Path(SOURCES) / "ep" / "testing" / "device_layer"
    computing = ("test_asynchronous.py", "test_arrays.py")  # the stub computes nothing
    tests += [str(suite), *(f"--ignore={suite / name}" for name in computing)]
    lines = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "--ep-device", "cuda", **environment)
    assert re.match(r"\d\d+ passed", lines[-1])


def test_launches(python):
    code = f"""{BEGIN}
stream = cuda.CreateStream()
function = driver.load_function(0, {cubin()}, "ep_kernel")
assert driver.max_active_blocks(0, function, 256) == 8
driver.opt_in_shared(1, function, 100_000)
block = ParameterBlock(2)
block.words[0], block.words[1] = 41, -42
def launch(device, grid, stream):
    driver.launch(device, function, (grid, 2, 3), (4, 5, 6), 7, stream, block)
launch(0, 1, stream.handle)
driver.set_current_device(1)
launch(0, 2, stream.handle)
launch(0, 3, 1)
thread = threading.Thread(target=launch, args=(0, 4, stream.handle))
thread.start()
thread.join()
assert driver.current_device() == 1
"""
    lines = python("-c", code, STUB_LOG="1")
    assert any(line.startswith("load ELF\x02, 0 and 0 options") for line in lines)
    assert "loaded 0x89" in lines
    assert "attribute 8 of 0x88 on device 1 is 100000" in lines
    launches = [line for line in lines if line.startswith("launch")]
    rest = "(4,5,6) shared 7 stream {} words 41 -42 extra (nil) device {}"
    assert launches == [
        f"launch 0x88 (1,2,3) {rest.format('0x5010', 0)}",  # on a thread that had not used CUDA
        f"launch 0x88 (2,2,3) {rest.format('0x5010', 1)}",  # a kernel runs on the device of its stream
        f"launch 0x88 (3,2,3) {rest.format('0x1', 0)}",  # and on the default stream of its own device
        f"launch 0x88 (4,2,3) {rest.format('0x5010', 0)}",
    ]


REFUSED = f"""{BEGIN}
cuda.SetAsActiveDevice()
stream = cuda.CreateStream()
def refused(ask):
    try:
        ask()
    except CudaError as error:
        return error.name.removeprefix("CUDA_ERROR_")
def launch(function, threads=(1, 1, 1), shared=0, grid=(1, 1, 1)):
    return refused(lambda: driver.launch(0, function, grid, threads, shared, stream.handle, ParameterBlock(2)))
"""


def test_the_stub_refuses_what_a_gpu_refuses(python):
    """Shared memory with and without the opt-in, registers, threads and blocks: the last that goes, and the next."""
    code = f"""{REFUSED}
plain, large = driver.load_function(0, {cubin()}, "ep_kernel"), driver.load_function(0, {cubin(1008)}, "ep_kernel")
assert launch(plain, shared=49_152) is None and launch(plain, shared=49_153) == "INVALID_VALUE"
assert launch(large, shared=48_144) is None and launch(large, shared=48_145) == "INVALID_VALUE"
assert refused(lambda: driver.opt_in_shared(0, large, 231_441)) == "INVALID_VALUE"
driver.opt_in_shared(1, large, 231_440)
assert launch(large, shared=48_145) == "INVALID_VALUE", "the opt-in is one of a device"
driver.opt_in_shared(0, large, 231_440)
assert launch(large, shared=231_440) is None and launch(large, shared=231_441) == "INVALID_VALUE"
assert launch(plain, shared=49_153) == "INVALID_VALUE", "the opt-in is one of a kernel"
assert launch(plain, (32, 32, 1)) is None and launch(plain, (1025, 1, 1)) == "INVALID_VALUE"
assert launch(plain, (1, 1, 64)) is None and launch(plain, (1, 1, 65)) == launch(plain, (33, 32, 1)) == "INVALID_VALUE"
assert launch(plain, grid=(2**31 - 1, 65535, 65535)) is None
for grid in ((2**31, 1, 1), (1, 65536, 1), (1, 1, 65536), (0, 1, 1), (1, 0, 1)):
    assert launch(plain, grid=grid) == "INVALID_VALUE", grid
greedy = driver.load_function(0, {cubin(values=100)}, "ep_kernel")  # 128 registers
assert launch(greedy, (512, 1, 1)) is None and launch(greedy, (513, 1, 1)) == "LAUNCH_OUT_OF_RESOURCES"
assert [driver.max_active_blocks(0, one, 256) for one in (plain, greedy)] == [8, 2]
assert [driver.max_active_blocks(0, plain, 256, size) for size in (56 * 1024, 57_345, 232_448)] == [4, 3, 1]
"""
    python("-c", code)


KERNELS = (
    "softmax kBFloat16 LOADED 1 0",
    "transpose 1 4 32 32 3 64",
    "sort scatter",
    "columns kSum kFloat 8 1",
    "finish",
)


def test_the_stub_knows_the_shared_memory_of_kernels(python):
    """That in the machine code is what the variables of the PTX take."""
    code = f"""{BEGIN}
from ep.cuda.compile import compiler
from tests.cuda.main_kernels import MAIN_KERNELS
from tests.cuda.ptx_machine.translator import translate
for name in {KERNELS}:
    text = compiler.image(MAIN_KERNELS[name].make(), (9, 0), as_ptx=True).decode()
    function = driver.load_function(0, compiler.assemble(text, (9, 0)), "ep_kernel")
    print(driver.static_shared(0, function), translate(text).shared_bytes)
"""
    found = [[int(number) for number in line.split()] for line in python("-c", code)]
    assert all(one == other for one, other in found)
    assert [one > 0 for one, _ in found] == [True, True, True, True, False]


def test_memory_that_is_freed_on_a_stream_is_kept_until_memory_is_short(python):
    code = f"""{BEGIN}
stream = cuda.CreateStream()
for _ in range(3):
    stream.FreeAsync(stream.AllocAsync(600))
    stream.Sync()
try:
    stream.AllocAsync(2**34)
except MemoryError:
    pass
"""
    lines = [line for line in python("-c", code, STUB_LOG="1") if "pool" in line]
    release_threshold = 4
    assert lines[:2] == ["make a pool on device 0", f"attribute {release_threshold} of the pool is {2**64 - 1}"]
    assert set(lines[2:]) == {"trim the pool to 0 bytes"}


def test_errors(python):
    python(
        "-c",
        f"""{BEGIN}
for ask, error, message in [
    (lambda: driver.load_function(0, b"code", "ep_kernel"), CudaError,
     "cuLibraryLoadData: device kernel image is invalid (CUDA_ERROR_INVALID_IMAGE, error 200)"),
    (lambda: driver.load_function(0, {cubin()}, "none"), CudaError,
     "cuLibraryGetKernel: the stub says no (CUDA_ERROR_OF_THE_STUB, error 500)"),
    (lambda: driver.alloc(0, 2**40), MemoryError, "cuMemAlloc: out of memory"),
]:
    try:
        ask()
    except error as caught:
        assert str(caught) == message, caught
    else:
        raise AssertionError(message)
assert driver.current_device() == 0  # and no context was left on the stack
try:
    driver._ask(driver._cuda.cuCtxGetDevice)
except CudaError as caught:
    assert caught.code == 201
else:
    raise AssertionError
assert driver.device_of(2**20) == 0
assert driver.device_of(4096) is None
""",
    )


def test_a_forked_process_is_told(python):
    python(
        "-c",
        f"""{BEGIN}
import os
driver.create_event(0)
child = os.fork()
if child == 0:
    try:
        driver.load_function(0, b"code", "none")
    except CudaError as caught:
        os._exit(0 if "start it by 'spawn'" in str(caught) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""",
    )


def test_an_exit_with_everything_in_use_is_silent(python):
    code = f"""{BEGIN}
stream, event, options = cuda.CreateStream(), cuda.CreateEvent(), AllocationOptions()
kept = [cuda.Alloc(options, 8), stream.AllocAsync(8), cuda.AllocPinned(options, 8), stream]
kept.append(kept)
"""
    assert python("-c", code) == []


def test_an_illegal_access(python):
    python(
        "-c",
        f"""{BEGIN}
stream = cuda.CreateStream()
try:
    stream.Sync()
except CudaError as caught:
    assert str(caught) == (
        "cuStreamSynchronize: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, error 700)"
    ), caught
else:
    raise AssertionError
""",
        STUB_FAULT="0",
    )


def test_what_is_not_done_yet(python):
    python(
        "-c",
        f"""{BEGIN}
stream, event = cuda.CreateStream(), cuda.CreateEvent()
stream.RecordEvent(event)
assert not event.QueryDone()
assert stream.GetAsyncError() is None
""",
        STUB_BUSY="1",
    )


def test_streams_and_events_have_the_right_flags(python):
    lines = python(
        "-c", f"{BEGIN}stream = cuda.CreateStream()\nevent = cuda.CreateEvent()\nstream.wait_for(0x77)", STUB_LOG="1"
    )
    assert lines[:5] == [
        "stream 0x5010 flags 0",  # in order with the legacy default stream
        "event flags 0",  # with timing
        "event flags 2",  # without
        "record on 0x77",
        "0x5010 waits",
    ]


def test_memory_is_reused_on_another_stream_only_after_a_fence(python):
    code = f"""{BEGIN}
import sys
streams = [cuda.CreateStream() for _ in range(2)]
options = AllocationOptions()
first = cuda.Alloc(options, 512)
second = cuda.Alloc(options, 512)
cuda.Free(options, first)
cuda.Free(options, second)
print("one", file=sys.stderr)
first = cuda.Alloc(options, 512)
print("two", file=sys.stderr)
second = cuda.Alloc(options, 512)
print("end", file=sys.stderr)
"""
    lines = python("-c", code, STUB_LOG="1")
    one, two, end = (lines.index(word) for word in ("one", "two", "end"))
    fence = [line for line in lines[one + 1 : two] if "event" not in line]
    assert fence == ["record on 0x5020", "0x5010 waits", "record on 0x5010", "0x5020 waits"]
    assert lines[two + 1 : end] == []  # it was also freed before that fence
    captured = python("-c", code, STUB_LOG="1", STUB_CAPTURE="1")
    assert "record on 0x5010" not in captured  # no part of it is captured into a graph


def test_copies_wait_for_pageable_memory_alone(python):
    code = f"""{BEGIN}
import numpy as np
from ep.include.primitive import MemcpyFactory, MemsetFactory
stream = cuda.CreateStream()
copy = NewPrimitive(MemcpyFactory, DeviceType.kCUDA, MemcpyKind.kAuto)
pinned, pageable = cuda.AllocPinned(AllocationOptions(), 64), np.arange(64, dtype=np.uint8)
one, two = (cuda.Alloc(AllocationOptions(), 64) for _ in range(2))
for dst, src in ((one, pageable), (two, one), (pinned, two), (two, pinned), (pageable, two)):
    copy.Launch(stream, dst, src, 60)
copy.Launch(stream, one, one, 60)
copy.Launch(stream, one, two, 0)
NewPrimitive(MemsetFactory, DeviceType.kCUDA).Launch(stream, one[3:], 255, 17)
assert pinned[:60].tolist() == pageable[:60].tolist() == list(range(60))
assert one.copy_to_host(stream).tolist()[:22] == [0, 1, 2, *[255] * 17, 20, 21]
"""
    lines = python("-c", code, STUB_LOG="1", STUB_PAGEABLE="1")
    copied, waited = "copy 60 bytes on 0x5010", "wait for 0x5010"
    begin = lines.index(copied)
    expected = [copied, waited, copied, copied, copied, copied, waited, "set 17 bytes to 255 on 0x5010"]
    assert lines[begin : begin + len(expected)] == expected


def test_pageable_memory_is_no_part_of_a_graph(python):
    code = f"""{BEGIN}
import numpy as np
from ep.include.primitive import MemcpyFactory
stream = cuda.CreateStream()
memory, pinned = cuda.Alloc(AllocationOptions(), 64), cuda.AllocPinned(AllocationOptions(), 64)
for kind in (MemcpyKind.kAuto, MemcpyKind.kHtoD):
    copy = NewPrimitive(MemcpyFactory, DeviceType.kCUDA, kind)
    copy.Launch(stream, memory, pinned, 64)
    try:
        copy.Launch(stream, memory, np.zeros(64, np.uint8), 64)
    except ValueError as error:
        print(error)
"""
    lines = python("-c", code, STUB_LOG="1", STUB_PAGEABLE="1", STUB_CAPTURE="1")
    assert lines.count("copy 64 bytes on 0x5010") == 2
    assert sum(line.startswith("src is pageable host memory") for line in lines) == 2


def test_the_framework_keeps_its_stream(python):
    lines = python(
        "-c",
        f"{BEGIN}stream = CudaStream.from_handle(0x5550, 0)\ncuda.DestroyStream(stream)\n"
        "own = cuda.CreateStream()\nhandle = own.handle\ndel own\ncuda.CreateStream()",
        STUB_LOG="1",
    )
    assert [line for line in lines if line.startswith("destroy")] == ["destroy 0x5010"]


def test_a_graph(python):
    """A graph that is captured as the benchmark does it."""
    code = f"""{BEGIN}
from benchmarks.gpu.measure import Bench
bench = Bench(cuda.CreateStream(), 1)
assert bench.graph("unary/relu/float32") == {{"error": "a replay does not compute"}}  # nor does the stand-in
"""
    lines = python("-c", code, STUB_LOG="1")
    begin = next(number for number, line in enumerate(lines) if line.startswith("capture "))
    handle = lines[begin].removeprefix("capture ").removesuffix(" mode 2")
    end = lines.index(f"captured {handle}")
    captured = lines[begin + 1 : end]
    assert len(captured) == 100
    assert all(line.startswith("launch 0x") and f"stream {handle} " in line for line in captured)
    assert lines[end + 1 : end + 3] == ["instantiate 0xa0 flags 0", "destroy graph 0xa0"]
    assert f"replay 0xb0 on {handle}" in lines


@pytest.mark.ep_long
def test_rows_and_sums_in_a_graph(python):
    """Rows kept in registers and in shared memory, read again, or in parts; values in two steps; both sorts of ids.

    Launches take temporary memory in stream order, which graphs support, too.
    """
    code = f"""{BEGIN}
from tests.cuda.graph import Graph
from ep.include.primitive import *
stream = cuda.CreateStream()
memory = cuda.Alloc(AllocationOptions(), 2**22)
launches = []
def add(factory, key, *arguments):
    primitive = RequirePrimitive(factory, DeviceType.kCUDA, *key)
    launches.append(lambda: primitive.Launch(stream, *arguments))

a, b, c = (memory[2**20 * place : 2**20 * (place + 1)].view("float32") for place in range(3))
for name in ("Softmax", "LogSoftmax"):
    for cols in (64, 9000, 60000, 2**17):
        add(globals()[name + "Factory"], ["float32"], 1, cols, a, c)
    add(globals()[name + "BackwardFactory"], ["float32"], 3, 64, a, b, c)
for dims, axes in (((64, 64), (1,)), ((64, 64), (0,)), ((2**18,), (0,))):
    add(ReduceFactory, [ReduceOp.kSum, "float32", 2], dims, a, axes, c)
ids = memory[2**20 : 2**20 + 2**16].view("int32")
for number in (100, 2**14):
    add(UnsortedSegmentSumFactory, ["float32", "int32"], 1, 50, 4, a, number, ids, c)
add(BatchUnsortedSegmentSumFactory, ["float32", "int32"], 3, 1, 50, 4, a, 100, ids, c)
def all_of_them():
    for launch in launches:
        launch()
all_of_them()
Graph(stream, all_of_them)
print("launches", len(launches))
"""
    lines = python("-c", code, STUB_LOG="1")
    begin = next(number for number, line in enumerate(lines) if line.startswith("capture "))
    handle = lines[begin].removeprefix("capture ").removesuffix(" mode 2")
    captured = lines[begin + 1 : lines.index(f"captured {handle}")]
    queued = [line for line in captured if line.startswith("launch ") and f" stream {handle} " in line]
    taken = [line for line in captured if re.fullmatch(rf"take \d+ bytes on {handle}", line)]
    given_back = [line for line in captured if line == f"give back on {handle}"]
    assert len(queued) + len(taken) + len(given_back) == len(captured), captured
    assert len(queued) > int(lines[-1].removeprefix("launches ")) + 10
    assert len(taken) == len(given_back) == 6
