"""`python -m benchmarks.gpu` on the device under test: all but the measured times."""

import ctypes
import dataclasses
import json
import math
import sys
import types
from functools import partial

import numpy as np
import pytest

from benchmarks.gpu import options, run, sanitizer
from benchmarks.gpu.budget import Budget
from benchmarks.gpu.forms import FORMS
from benchmarks.gpu.measure import Bench
from benchmarks.gpu.peers import Operand
from benchmarks.gpu.plan import planned
from benchmarks.gpu.scale import SMALL
from benchmarks.gpu.timing import EventClock
from ep import AllocationOptions
from ep.bench.all_cases import SETS
from ep.bench.builders import DTYPES

FLOAT32 = np.dtype(np.float32)
UNARY = {"set": "unary", "dtype": "float32", "size": 64}


class NumPy:
    """A library to compare with, which computes on the host."""

    version = "0"

    def __init__(self, stream, name="numpy", change=lambda result: None):
        self.name, self._stream, self._change = name, stream, change

    def prepare(self, case, inputs, out):
        def call():
            arrays = [operand.buffer.copy_to_host(self._stream).reshape(operand.dims) for operand in inputs]
            result = np.empty(out.dims, case.out_type)
            case.numpy(arrays, result)()
            self._change(result)
            out.buffer.copy_from_host(result, self._stream)

        return {self.name: call}


class Broken:
    name, version = "broken", "0"

    def prepare(self, case, inputs, out):
        raise TypeError("no such dtype\nand more")


def bench(stream, *peers):
    return Bench(stream, EventClock(stream, SMALL), peers, 1e-3)


def first_case(name, primitive=None, size=64):
    return next(case for case in SETS[name](size, FLOAT32) if primitive in (None, case.primitive))


def primitives():
    """Return each set together with each of its primitives."""
    sets = [name for name in SETS if name != "transformer"]
    found = [(name, case.primitive) for name in sets for case in SETS[name](64, FLOAT32)]
    return [pytest.param(*pair, id="-".join((pair[0], pair[1].__name__))) for pair in dict.fromkeys(found)]


def test_everything(cuda, tmp_path, capsys, monkeypatch):
    if cuda.driver.loads_ptx:  # it is thousands of times slower than a GPU
        monkeypatch.setattr(run, "GPU", SMALL)
    given = options.parse(
        ["times", "--sizes", "64", "--dtypes", "float32", "--cases", "^relu|^add, row|64 B|with rows of 64"]
    )
    given.seconds, given.peers, given.table = 1e-3, (), True
    given.json = tmp_path / "gpu.json"
    assert run.run(given) == 0
    printed = capsys.readouterr().out
    assert "unary float32 of 64: 1 case" in printed
    assert "torch: not asked for" in printed
    document = json.loads(given.json.read_text())
    assert document["graph"]["replay_computes"]
    assert len(document["results"]) == 4
    assert [result["case"] for result in document["forms"]] == ["relu", "add, row"]
    assert all(set(result["seconds"]) == set(FORMS) for result in document["forms"])


def test_a_dry_run(cuda, capsys):
    """Every part runs, and no time is printed."""
    if not cuda.driver.loads_ptx:
        pytest.skip("a dry run is for machines without a GPU")
    given = options.parse(["times", "--dry-run", "--peers", "torch", "--cases", "^relu|^sum, one id with rows of 64"])
    assert run.run(given) == 0
    printed = capsys.readouterr().out
    assert "wrong results of ep: 0" in printed
    assert "rows bfloat16 of 1,024: 1 case\n" in printed
    assert "forms float32 of 1,024: 1 case\n" in printed
    assert "no time is reported; 6 cases ran" in printed
    for unit in ("GB/s", " us", "of the copy"):
        assert unit not in printed


def test_the_twenty_kernels_of_the_sanitizer(cuda, capsys):
    assert sanitizer.main() == 0
    assert capsys.readouterr().out == "20 kernels ran; all results are right\n"


@pytest.mark.parametrize(("name", "primitive"), primitives())
def test_a_case_with_peers(stream, name, primitive):
    wrong = NumPy(stream, "wrong", lambda result: result.fill(1))
    case = first_case(name, primitive)
    found = bench(stream, NumPy(stream), wrong, Broken()).measure(case, 64)
    assert set(found["seconds"]) == {"ep", "numpy"}
    assert found["ratio"] == found["seconds"]["numpy"] / found["seconds"]["ep"]
    assert found["share_of_copy"] > 0
    assert (found["cache"], found["sets"]) == ("cold", 1 if case.bytes_moved >= SMALL.rotated else 2)
    assert found["wrong"]["broken"] == "TypeError: no such dtype"
    assert found["wrong"]["wrong"].startswith("differs from ep, ")
    assert set(found["wrong"]) == {"broken", "wrong"}
    json.dumps(found)


def test_a_small_case_is_not_compared_with_the_copy(stream):
    found = bench(stream).measure(first_case("unary", size=16), 16)
    assert (found["cache"], found["sets"], found["share_of_copy"], found["ratio"]) == ("warm", 1, None, None)


def test_a_wrong_result_of_ours_is_not_timed(stream):
    case = dataclasses.replace(first_case("unary"), numpy=lambda inputs, out: partial(out.fill, 2))
    found = bench(stream, NumPy(stream, "peer", lambda result: result.fill(3))).measure(case, 64)
    assert (found["seconds"], found["wrong"]) == ({}, {"ep": "differs from NumPy"})
    erf = next(case for case in SETS["unary"](64, FLOAT32) if case.name == "erf")
    assert not erf.numpy_has_it
    assert set(bench(stream).measure(erf, 64)["seconds"]) == {"ep"}


class Bombs:
    """A bench whose cases fail, or raise the given exception."""

    def __init__(self, *errors):
        self._errors = iter(errors)

    def measure(self, case, size):
        if error := next(self._errors):
            raise error
        return {"ratio": None, "share_of_copy": None, "wrong": {}}


def cases_of(cuda, errors, budget=None, count=7):
    document = run.new_document(cuda)
    plan = list(planned(["unary"], ["float32"], [64]))[:count]
    run.measure_cases(plan, Bombs(*errors), cuda, document, budget or Budget(600))
    return document


def test_failures_are_kept_and_end_a_run_only_when_they_follow_each_other(cuda):
    bomb = ValueError("bang")
    document = cases_of(cuda, [None, bomb, MemoryError("no room"), bomb, None, bomb, None])
    assert [entry["error"] for entry in document["failed"]] == ["ValueError: bang"] * 3
    assert [entry["why"] for entry in document["not_measured"]] == ["no room"]
    assert len(document["results"]) == 3
    document = cases_of(cuda, [bomb] * 5)
    assert document["not_measured"] == [{**UNARY, "cases": 2, "why": "5 cases in a row had failed"}]


def test_what_there_is_no_time_for_is_listed(cuda):
    document = cases_of(cuda, [], Budget(0, lambda: 0.0))
    assert document["results"] == []
    assert document["not_measured"] == [{**UNARY, "cases": 7, "why": "no time was left"}]


def test_what_was_stopped_is_listed(cuda):
    document = run.new_document(cuda)
    plan = list(planned(["unary"], ["float32"], [64]))[:7]
    with pytest.raises(KeyboardInterrupt):
        run.measure_cases(plan, Bombs(None, None, KeyboardInterrupt()), cuda, document, Budget(600))
    assert len(document["results"]) == 2
    assert document["not_measured"] == [{**UNARY, "cases": 5, "why": "stopped from outside"}]


# the adapters of libraries that need a GPU, on a device whose memory is the host's


def host_array(buffer):
    """Return a NumPy array that shares the memory of a buffer."""
    memory = (ctypes.c_uint8 * buffer.nbytes).from_address(buffer.address)
    return np.frombuffer(memory, buffer.dtype)


def check_adapter(adapter, cuda, rng, dtypes):
    """Check that every case that the adapter supports has NumPy's results."""
    taken = set()
    for name, dtype in ((name, dtype) for name in SETS for dtype in dtypes):
        for case in SETS[name](2**10, dtype):
            arrays = [np.ascontiguousarray(array) for array in case.make(rng)]
            operands = []
            for array in arrays:
                buffer = cuda.Alloc(AllocationOptions(), array.nbytes).view(array.dtype)
                host_array(buffer)[...] = array.reshape(-1)
                operands.append(Operand(buffer, array.shape))
            size = math.prod(case.out_dims) * case.out_type.itemsize
            out = Operand(cuda.Alloc(AllocationOptions(), size).view(case.out_type), case.out_dims)
            expected = np.empty(case.out_dims, case.out_type)
            with np.errstate(all="ignore"):
                case.numpy(arrays, expected)()
            for way, call in adapter.prepare(case, operands, out).items():
                host_array(out.buffer).view(np.uint8).fill(0xA5)
                call()
                result = host_array(out.buffer).reshape(case.out_dims)
                assert case.is_right(result, expected), (way, name, case.name, dtype)
                taken.add((way, name))
    return taken


@pytest.fixture
def on_host(cuda):
    if not cuda.driver.loads_ptx:
        pytest.skip("the memory of a GPU is not the host's; the benchmark itself compares these libraries there")
    return cuda


def test_torch_adapter(on_host, stream, rng, monkeypatch):
    torch = pytest.importorskip("torch")
    from benchmarks.gpu import torch_

    streams = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "ExternalStream", lambda handle, device: (handle, device))
    monkeypatch.setattr(torch.cuda, "set_stream", streams.append)
    monkeypatch.setattr(torch, "as_tensor", lambda buffer, device: torch.from_numpy(host_array(buffer)))
    adapter = torch_.Adapter(stream)
    assert streams == [(stream.handle, torch.device("cuda", 0))]
    adapter._device = torch.device("cpu")
    taken = check_adapter(adapter, on_host, rng, DTYPES)
    assert {name for _, name in taken} == set(SETS) - {"transformer"}
    assert ("torch index", "batch_gather") in taken


def test_cupy_adapter(on_host, stream, rng, monkeypatch):
    """Test CuPy's adapter with NumPy's and SciPy's functions, which have the same names and arguments as CuPy's."""
    special = pytest.importorskip("scipy.special")
    used = []

    class Stream:
        @staticmethod
        def from_external(wrapped):
            return types.SimpleNamespace(use=lambda: used.append(wrapped.__cuda_stream__()))

    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        Device=lambda index: types.SimpleNamespace(use=lambda: used.append(index)),
        Stream=Stream,
        UnownedMemory=lambda address, size, owner, device: owner,
        MemoryPointer=lambda memory, offset: memory,
    )
    cupy = types.ModuleType("cupy")
    vars(cupy).update(vars(np))
    vars(cupy).update(
        __version__="0", cuda=cuda, ndarray=lambda dims, dtype, buffer: host_array(buffer).view(dtype).reshape(dims)
    )
    cupyx, scipy = types.ModuleType("cupyx"), types.ModuleType("cupyx.scipy")
    cupyx.scipy, scipy.special = scipy, special
    cupyx.rsqrt = lambda x, out: np.divide(1, np.sqrt(x, out=out), out=out)
    for name, module in {"cupy": cupy, "cupyx": cupyx, "cupyx.scipy": scipy, "cupyx.scipy.special": special}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "benchmarks.gpu.cupy_", raising=False)
    from benchmarks.gpu import cupy_

    monkeypatch.delitem(sys.modules, "benchmarks.gpu.cupy_")
    adapter = cupy_.Adapter(stream)
    assert used == [0, (0, stream.handle)]
    dtypes = [dtype for dtype in DTYPES if dtype.name in ("float32", "float64", "int8", "int64")]
    taken = check_adapter(adapter, on_host, rng, dtypes)
    assert {name for _, name in taken} == set(SETS) - {"batch_gather", "transformer", "softmax", "segment_sum"}
