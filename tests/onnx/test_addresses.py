"""Which words of plans are addresses: with any layout of memory, and with each Python that is here."""

import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from ep import DeviceType, RequirePrimitive
from ep.common.arrays.on_device import arrays_on
from ep.common.kernel_cache.headed import header_of, with_header
from ep.common.native.object_layout import data_address
from ep.cpu.engine.repeat import image
from ep.cpu.engine.repeat.image_header import ImageHeader
from ep.cpu.engine.repeat.restored import restored
from ep.include.primitive import ConstantPadFactory, FillFactory, OneHotFactory
from tests.onnx.kept import run_once, written
from tests.onnx.test_models import model_of
from tests.onnx.test_repetition import several
from tests.subprocesses import environment_of
from tools import matrix

I64 = TensorProto.INT64


def memory(num_bytes):
    return np.empty(num_bytes, np.uint8)


def launches(rng):
    """Return a model with launches of all engines, and inputs."""
    x, picture, i = rng.random((5, 7), np.float32), rng.random((1, 3, 13, 11), np.float32), rng.integers(0, 5, 3)
    nodes = [
        ("Add", ["x", "column"], ["broadcast"]),
        ("Transpose", ["x"], ["turned"]),
        ("Sub", ["turned", "row"], ["tiled"]),
        ("Cast", ["x"], ["half"], {"to": TensorProto.FLOAT16}),
        ("LeakyRelu", ["x"], ["leaky"], {"alpha": 0.3}),
        ("Pad", ["x", "pads"], ["padded"]),
        ("Slice", ["x", "begin", "end", "axes", "steps"], ["part"]),
        ("Concat", ["x", "broadcast"], ["joined"], {"axis": 1}),
        ("Gather", ["x", "i"], ["rows"]),
        ("OneHot", ["i", "depth", "values"], ["hot"]),
        ("ReduceSum", ["x", "first"], ["sums"]),
        ("ReduceMax", ["x", "second"], ["most"], {"keepdims": 1}),
        ("LayerNormalization", ["turned", "row", "row"], ["normal"]),
        ("Softmax", ["joined"], ["soft"]),
        ("MatMul", ["x", "turned"], ["product"]),
        ("Tanh", ["product"], ["mapped"]),
        ("Gemm", ["x", "x"], ["gemm"], {"transB": 1, "alpha": 0.5}),
        ("Conv", ["picture", "w"], ["wide"], {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
        ("Conv", ["picture", "of_each"], ["planes"], {"group": 3}),
        ("Conv", ["picture", "w"], ["strided"], {"strides": [2, 2]}),
        ("Relu", ["strided"], ["relu"]),
        ("MaxPool", ["relu"], ["bands"], {"kernel_shape": [2, 2]}),
        ("MaxPool", ["picture"], ["pooled"], {"kernel_shape": [3, 3], "strides": [2, 2]}),
        ("AveragePool", ["picture"], ["mean"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ]
    shapes = {"w": (4, 3, 3, 3), "of_each": (3, 1, 3, 3), "column": (5, 1), "row": (5,), "values": (2,)}
    numbers = {
        "depth": 5,
        "first": [0],
        "second": [1],
        "pads": [1, 2, 0, 1],
        "begin": [6],
        "end": [-8],
        "axes": [1],
        "steps": [-2],
    }
    constants = [(name, rng.random(shape, np.float32)) for name, shape in shapes.items()]
    constants += [(name, np.array(value, np.int64)) for name, value in numbers.items()]
    outputs = [("half", (5, 7), TensorProto.FLOAT16)]
    outputs += [(name, (None, None)) for _, _, (name,), *_ in nodes[:17] if name != "half"]
    outputs += [(name, (None,) * 4) for _, _, (name,), *_ in nodes[17:]]
    inputs = [("x", x.shape), ("picture", picture.shape), ("i", i.shape, I64)]
    return model_of(nodes, inputs, outputs, constants), {"x": x, "picture": picture, "i": i}


def keep(folder, model, given):
    """Write a model and inputs for `tests/onnx/copied.py`; return the folder."""
    np.savez(written(folder, model).with_suffix(".npz"), **given)
    return folder


def run_copied(folder, python=sys.executable, mode="writes"):
    """Return what `tests/onnx/copied.py` finds in a process: the outputs, whether a plan was read, and the parts."""
    packages = [one for one in sys.path if Path(one, "numpy").is_dir()]
    command = [python, "-P", "-m", "tests.onnx.copied", str(folder), mode]
    done = subprocess.run(command, env=environment_of(packages, {}), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = pickle.loads((folder / "out").read_bytes()).values()
    return found


def are_elsewhere(parts, others):
    """Return whether the addresses in what two processes have copied differ; assert that nothing else does."""
    assert len(parts) == len(others) > 0
    num_addresses = num_different = 0
    for (one, places), (other, same_places) in zip(parts, others, strict=True):
        assert places == same_places
        if not places:
            assert one == other
            continue
        one, other = np.frombuffer(one, np.int64), np.frombuffer(other, np.int64)
        assert {*np.flatnonzero(one != other).tolist()} <= {*places}
        num_addresses += np.count_nonzero(one[places])
        num_different += np.count_nonzero(one[places] != other[places])
    return num_different > 0.9 * num_addresses > 0


@pytest.mark.parametrize("made", [several, launches])
def test_words_that_differ_between_processes_are_addresses(tmp_path, rng, made):
    model, given = made(rng)
    folder = keep(tmp_path, model, given if made is launches else given[0])
    (outputs, _, one), (_, _, other) = run_copied(folder), run_copied(folder)
    assert run_copied(folder, mode="reads") == (outputs, True, [])
    if not are_elsewhere(one, other):
        pytest.skip("the system places memory at the same addresses in each process")


@cache
def other_pythons():
    """Return the other Pythons on the path and in pyenv's folder that can import the packages of this one."""
    ask = "import os, sys, sysconfig; print(sysconfig.get_config_var('SOABI'), os.path.realpath(sys.executable))"
    pyenv, found = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"), {}
    for command in filter(matrix.ask, matrix.candidates(os.environ.get("PATH", ""), pyenv)):
        done = subprocess.run([command, "-c", ask], capture_output=True, text=True, check=True)
        abi, _, executable = done.stdout.strip().partition(" ")
        found.setdefault(executable, (abi, command))
    ours, _ = found.pop(os.path.realpath(sys.executable))
    return [command for abi, command in found.values() if abi == ours]


def test_other_pythons_write_and_read_plans(tmp_path, gathered):
    model, given, *_ = gathered
    if not other_pythons():
        pytest.skip("no other Python with this one's ABI is on the path or in pyenv's folder")
    folder = keep(tmp_path, model, given)
    expected, _, parts = run_copied(folder)
    for python in other_pythons():
        outputs, _, others = run_copied(folder, python)
        assert outputs == expected
        assert run_copied(folder, python, "reads") == (expected, True, [])
        are_elsewhere(parts, others)


@pytest.fixture
def addresses():
    """Return numbers that are addresses of something, or could be on some system, and what has these addresses."""
    held = np.zeros(1000), object(), bytearray(2**22)
    found = [data_address(held[0]), id(held[1]), id(np.ndarray), id(int), id(None)]
    return [*found, *(2**bits + 8 for bits in (12, 31, 32, 40, 46, 47, 48, 56, 61))], held


def test_constants_may_have_the_values_of_addresses(tmp_path, rng, addresses):
    """They are operands, the values of padding and of classes, and the bits of float64 values."""
    x, z, some = rng.integers(-9, 9, 7), rng.random(7), rng.random(7) < 0.5
    nodes, outputs, constants = [], [], [("some", some), ("one", np.array([1, 0])), ("two", np.array(2))]
    for k, number in enumerate(addresses[0]):
        constants += [(f"i{k}", np.array(number)), (f"f{k}", np.array(number).view(np.float64))]
        constants += [(f"v{k}", np.array([number, 3]))]
        nodes += [("Mul", ["x", f"i{k}"], [f"m{k}"]), ("Pad", ["x", "one", f"i{k}"], [f"p{k}"])]
        nodes += [("OneHot", ["x", "two", f"v{k}"], [f"h{k}"]), ("Where", ["some", "z", f"f{k}"], [f"w{k}"])]
        outputs += [(f"m{k}", (7,), I64), (f"p{k}", (8,), I64), (f"h{k}", (7, 2), I64)]
        outputs += [(f"w{k}", (7,), TensorProto.DOUBLE)]
    model = model_of(nodes, [("x", (7,), I64), ("z", (7,), TensorProto.DOUBLE)], outputs, constants)
    _, again, is_read = run_once(tmp_path, model, {"x": x, "z": z})
    found = again(x=x, z=z)
    assert not is_read()
    for k, number in enumerate(addresses[0]):
        multiplied, padded, classes, chosen = found[4 * k : 4 * k + 4]
        np.testing.assert_array_equal(multiplied, x * np.int64(number))
        np.testing.assert_array_equal(padded, [number, *x])
        np.testing.assert_array_equal(classes, [[3 if one in (c, c - 2) else number for c in (0, 1)] for one in x])
        np.testing.assert_array_equal(chosen.view(np.int64), np.where(some, z.view(np.int64), number))


def recorded(function, inputs=()):
    """Return the image of what a function (stream, *inputs, written) launches, and its result: an array of 8 int64."""
    arrays = arrays_on(DeviceType.kCPU)

    def launched(arrays, inputs, values):
        written = arrays.empty((8,), np.dtype(np.int64))
        function(arrays.stream, *inputs, written)
        return [written]

    repeat = arrays.new_recording().record(launched, inputs, [], [], [])
    return repeat.image(), repeat.results[0]


def test_numbers_of_launches_may_have_the_values_of_addresses(rng, addresses):
    """They are values that are filled in and padded with, and the first of some classes."""
    fill = RequirePrimitive(FillFactory, DeviceType.kCPU, "int64")
    pad = RequirePrimitive(ConstantPadFactory, DeviceType.kCPU, "int64")
    one_hot = RequirePrimitive(OneHotFactory, DeviceType.kCPU, "int64", "int64")
    x = rng.integers(-9, 9, 7)
    for number in addresses[0]:
        for function, given in (
            (lambda stream, y, number=number: fill.Launch(stream, y, number, 8), []),
            (lambda stream, x, y, number=number: pad.Launch(stream, [7], x, [1], [0], number, y), [x]),
            (
                lambda stream, i, y, number=number: one_hot.Launch(stream, i, y, 1, number, 1, number, number + 8),
                [np.array([number + 2])],
            ),
        ):
            made, expected = recorded(function, given)
            found = np.zeros(8, np.int64)
            assert number in expected
            assert restored(made, [], memory)(*given, found)
            np.testing.assert_array_equal(found, expected)


def test_what_an_address_is_in():
    """It is found exactly: where arrays follow one another, or are parts of others, and for empty ones."""
    block = np.arange(24)
    ranges = image._Ranges([image._range(one) for one in (block[2:4], block[:8], block[8:16])])
    begin = data_address(block)
    for place in range(16):
        number = place // 8
        assert ranges.of(begin + 8 * place) == (1 + number, begin + 64 * number)
    assert ranges.of(begin - 1) is ranges.of(begin + 128) is None
    empty = np.zeros(0)
    assert image._Ranges([image._range(empty)]).of(data_address(empty)) == (0, data_address(empty))
    ranges = image._Ranges([(2**56, 2**56 + 8), (4096, 4104)])  # on other layouts of memory
    assert [ranges.of(one) for one in (4100, 2**45, 2**56 + 7)] == [(1, 4096), None, (0, 2**56)]
    ranges = image._Ranges([image._range(one) for one in (block[:10], block[9:])])
    assert ranges.of(begin + 64) == (0, begin)
    assert ranges.of(begin + 80) == (1, begin + 72)
    with pytest.raises(image._UnknownError):  # an operand may begin in one array, and end in the other one
        ranges.of(begin + 72)


@pytest.mark.parametrize(
    "damage",
    [(0, -8), (0, 4), (0, 2**40), (0, 2**62), (1, -1), (1, 1000), (2, -1), (2, 2**40)],
    ids="{0[0]}:{0[1]}".format,
)
def test_an_image_with_a_wrong_place_target_or_offset_is_not_restored(damage):
    fill = RequirePrimitive(FillFactory, DeviceType.kCPU, "int64")
    made, _ = recorded(lambda stream, y: fill.Launch(stream, y, 7, 8))
    header, begin = header_of(ImageHeader, made)
    sites = np.frombuffer(made, np.int64, 3 * header.addresses, begin).reshape(-1, 3).copy()
    rest = made[begin + sites.nbytes :]
    assert restored(with_header(header, sites.tobytes(), rest), [], memory) is not None
    for row in range(len(sites)):
        wrong, (column, value) = sites.copy(), damage
        wrong[row, column] = value
        assert restored(with_header(header, wrong.tobytes(), rest), [], memory) is None
    for words in ([-1, 8], [len(rest), 1], [0, len(rest)]):
        assert restored(with_header(header._replace(words=words), sites.tobytes(), rest), [], memory) is None
