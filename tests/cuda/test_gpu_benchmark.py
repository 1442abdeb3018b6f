"""The cases of `python -m benchmarks.gpu` on the device under test: all but the measured times."""

import ctypes
import dataclasses
import json
import math
from functools import partial

import numpy as np
import pytest

from benchmarks.cases.common import DTYPES
from benchmarks.cases.reduce import row_cases
from benchmarks.cases.sets import SETS
from benchmarks.gpu import measure
from benchmarks.gpu.measure import Bench, Operand, Sample, compared, is_bound
from benchmarks.gpu.plan import COMMANDS
from ep import AllocationOptions
from ep.bench.case import SortWork
from ep.include.data_type import as_data_type

STAGES = [stage for stages in COMMANDS.values() for stage in stages]
TIMED = list(dict.fromkeys(name for stage in STAGES if stage.does == "time" for name in stage.cases))
TWENTY = next(stage for stage in STAGES if stage.name == "memcheck")
RELU = "unary/relu/float32"


class NumPy:
    """A rival that computes on the host, in one right and one wrong way."""

    name = "numpy"

    def __init__(self, stream):
        self._stream = stream

    def ways(self, case, inputs, out):
        def call(change):
            arrays = [operand.buffer.copy_to_host(self._stream).reshape(operand.dims) for operand in inputs]
            result = np.empty(out.dims, case.out_type)
            with np.errstate(all="ignore"):
                case.numpy(arrays, result)()
            change(result)
            out.buffer.copy_from_host(result, self._stream)

        return {"numpy": partial(call, lambda result: None), "wrong": partial(call, lambda result: result.fill(77))}


class Broken:
    name = "broken"

    def ways(self, case, inputs, out):
        raise TypeError("no such dtype\nand more")


def bench(stream, rival=None, elements=2**12, **more):
    return Bench(stream, elements, **{"seconds": 1e-3, "copied": 2**16, "rotated": 2**14, "rival": rival} | more)


def test_every_case_of_the_plan_exists():
    for stage in STAGES:
        for name in stage.cases if stage.does in ("launch", "host", "graph", "time") else ():
            group, words, dtype = name.split("/")
            cases = (SETS | {"rows": row_cases})[group](stage.elements, as_data_type(dtype).dtype)
            assert [case.name for case in cases].count(words) == 1, (stage.name, name)


@pytest.mark.parametrize("name", TIMED)
def test_a_case_with_a_rival(stream, name):
    found = bench(stream, NumPy(stream)).time(name)
    assert set(found["us"]) == {"ep", "numpy"}
    assert found["ratio"] == pytest.approx(found["us"]["numpy"] / found["us"]["ep"])
    assert found["share_of_copy"] > 0
    assert found["not_timed"] == {"wrong": "differs from ep"}
    json.dumps(found)


def test_a_rival_that_fails_is_not_timed(stream):
    found = bench(stream, Broken()).time(RELU)
    assert (set(found["us"]), found["not_timed"]) == ({"ep"}, {"broken": "TypeError: no such dtype"})
    assert "ratio" not in found


def test_a_wrong_result_of_ours_is_not_timed(stream, monkeypatch):
    """It is wrong if neither the rival nor NumPy has it."""
    (relu,) = [case for case in SETS["unary"](2**12, np.dtype(np.float32)) if case.name == "relu"]
    other = dataclasses.replace(relu, numpy=lambda inputs, out: partial(out.fill, 2))
    monkeypatch.setattr(measure, "SETS", {"unary": lambda size, dtype: [other]})
    for rival in (None, NumPy(stream)):
        assert bench(stream, rival).time(RELU) == {"error": "differs from NumPy"}
    assert bench(stream).launch(RELU) == {"error": "differs from NumPy"}
    assert bench(stream).graph(RELU, 2) == {"error": "a replay does not compute"}


def test_what_numpy_lacks_is_compared_number_by_number(stream):
    assert set(bench(stream).time("unary/erf/float32")["us"]) == {"ep"}


@pytest.mark.parametrize("name", TWENTY.cases)
def test_the_twenty_kernels(stream, name):
    assert bench(stream, elements=TWENTY.elements).launch(name) == {}


def test_single_figures(stream):
    one = bench(stream, NumPy(stream))
    assert set(one.host("binary/add, row/float32")["host_us"]) == {"ep", "numpy", "wrong"}
    assert set(one.host(RELU)["host_us"]) == {"ep", "ep.ops", "numpy", "wrong"}
    assert set(bench(stream, elements=1).graph(RELU, 3)) == {"launches", "host_us", "device_us"}
    assert one.copy("1 GiB")["gb_per_s"] > 0


def test_buffers_are_rotated(stream):
    """Each launch of a batch has other buffers, all with the same numbers."""
    one = bench(stream, rotated=3 * 2**15 - 1)
    made = one._prepared(RELU, rotates=True)
    assert len({out.buffer.address for _, out in made.sets}) == len(made.ours) == 3
    call = measure.in_turn(made.ours)
    for _ in range(3):
        call()
    stream.Sync()
    results = [out.buffer.copy_to_host(stream) for _, out in made.sets]
    assert all(np.array_equal(result, np.maximum(made.arrays[0], 0)) for result in results)


@pytest.mark.parametrize("count", [1, 2**22, 2**22 + 1, 2**28, 10**8 + 7])
def test_what_is_compared(count):
    pieces = compared(count)
    assert (pieces[0].start, pieces[-1].stop) == (0, count)
    assert sum(piece.stop - piece.start for piece in pieces) == min(count, 2**22)
    assert all(0 <= piece.start < piece.stop <= count for piece in pieces)


def test_a_launch_bound_case_is_told():
    batches = ((3.0, True), (4.0, False), (5.0, False), (6.0, False))
    assert is_bound([Sample(device, 5.0, ahead) for device, ahead in batches])
    assert not is_bound([Sample(50.0, 5.0, False)] * 4)  # the kernel hides the launch
    assert not is_bound([Sample(3.0, 5.0, True)] * 4)  # the stream was kept busy


def host_array(buffer):
    """Return a NumPy array that shares the memory of a buffer, on a device whose memory is the host's."""
    memory = (ctypes.c_uint8 * buffer.nbytes).from_address(buffer.address)
    return np.frombuffer(memory, buffer.dtype)


def check_places(x, places, expected):
    """Compare the elements at places: PyTorch's topk has equal ones in any order. No place is there twice."""
    np.testing.assert_array_equal(np.take_along_axis(x, places, -1), np.take_along_axis(x, expected, -1))
    assert all(len({*row}) == len(row) for row in places.tolist())


def test_torch_adapter(cuda, stream, rng, monkeypatch):
    """Every case that the adapter supports has NumPy's results, on the CPU."""
    if not cuda.driver.loads_ptx:
        pytest.skip("the memory of a GPU is not the host's; the benchmark itself compares PyTorch there")
    torch = pytest.importorskip("torch")
    from benchmarks.gpu import torch_

    streams, taken = [], set()
    monkeypatch.setattr(torch.cuda, "ExternalStream", lambda handle, device: (handle, device))
    monkeypatch.setattr(torch.cuda, "set_stream", streams.append)
    monkeypatch.setattr(torch, "as_tensor", lambda buffer, device: torch.from_numpy(host_array(buffer)))
    adapter = torch_.Adapter(stream)
    assert streams == [(stream.handle, torch.device("cuda", 0))]
    adapter._device = torch.device("cpu")
    for name, dtype in ((name, dtype) for name in SETS for dtype in DTYPES):
        for case in SETS[name](2**10, dtype):
            operands = []
            for array in map(np.ascontiguousarray, case.make(rng)):
                buffer = cuda.Alloc(AllocationOptions(), array.nbytes).view(array.dtype)
                host_array(buffer)[...] = array.reshape(-1)
                operands.append(Operand(buffer, array.shape))
            size = math.prod(case.out_dims) * case.out_type.itemsize
            out = Operand(cuda.Alloc(AllocationOptions(), size).view(case.out_type), case.out_dims)
            expected = np.empty(case.out_dims, case.out_type)
            arrays = [host_array(operand.buffer).reshape(operand.dims) for operand in operands]
            with np.errstate(all="ignore"):
                case.numpy(arrays, expected)()
            for way, call in adapter.ways(case, operands, out).items():
                host_array(out.buffer).view(np.uint8).fill(0xA5)
                call()
                result = host_array(out.buffer).reshape(case.out_dims)
                if isinstance(case.work, SortWork):
                    check_places(arrays[0], result, expected)
                else:
                    assert case.is_right(result, expected), (way, name, case.name, dtype)
                taken.add((way, name))
    assert {name for _, name in taken} == set(SETS) - {"transformer"}
    assert ("torch index", "batch_gather") in taken
