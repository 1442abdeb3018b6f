"""The example of a device package passes the conformance suite, and mutants of it do not."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from tests.testing.conftest import EXAMPLE, passed


def test_a_device_of_one_primitive_conforms(example):
    example.keep_fill_alone()
    said = example.run("--pyargs", "ep.testing")
    assert passed(said) > 70
    assert "numpy: tested: device, memory, streams, events, Fill (5 keys)\n" in said
    assert re.search("numpy: not registered: Add, .*Gather,.*Where\n", said)


FILL, GATHER, EXPAND, UNARY = (
    f"ep.testing.primitive.test_{name}" for name in ("fill", "gather", "expand", "elementwise_unary")
)
MEMORY, MANAGER = "ep.testing.device_layer.test_memory", "ep.testing.device_layer.test_manager"

MUTANTS = {
    "a wrong result": (UNARY, "primitives", "x <= 0", "x <= 1", "exactly"),
    "a write past the end": (
        FILL,
        "primitives",
        'dst = elements(dst, "dst", data_type, as_size(count, "count"), written=True)\n        dst[...] = number',
        'elements(dst, "dst", data_type, as_size(count, "count"), written=True)\n        dst[: count + 1] = number',
        "elements around the result were written",
    ),
    "an error after writing": (
        FILL,
        "primitives",
        "        check_stream(stream, kNumpy)\n        number =",
        "        dst[...] = 0\n        check_stream(stream, kNumpy)\n        number =",
        "dst was written before the error",
    ),
    "an error that names nothing": (
        FILL,
        "primitives",
        'convert_value(value, data_type, "value")',
        'convert_value(value, data_type, "that")',
        "Regex pattern did not match",
    ),
    "no check of overlap": (
        EXPAND,
        "primitives",
        'check_disjoint(dst, "dst", src, "src", in_place=all(a == b for a, b in walked))',
        "pass",
        "DID NOT RAISE",
    ),
    "rows that wrap around": (GATHER, "primitives", "(indices >= offset)", "(indices >= -1)", "AssertionError"),
    "memory that is not aligned": (
        MEMORY,
        "host_device",
        "-block.ctypes.data % kMax",
        "64 - block.ctypes.data % kMax",
        "% 512",
    ),
    "a new device each time": (
        MANAGER,
        "indexed_devices",
        "        return self._devices[index]\n\n    def _make",
        "        return self.new_device(index)\n\n    def _make",
        "is",
    ),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_a_mutant_fails(example, what):
    module, file, old, new, message = MUTANTS[what]
    example.change(file, old, new)
    said = example.run("--pyargs", module, code=1)
    assert re.search(r"\d+ failed", said)
    assert re.search(f"^E .*{re.escape(message)}", said, re.MULTILINE), said


OPERATORS = """
import numpy as np
import ep.ops
from ep.common.host.arrays import WrappedArray

x = ep.ops.copy_to_device(np.array([[-1, 2], [3, -4]], np.float32), "numpy")
assert type(x) is WrappedArray
rows = ep.ops.gather(ep.ops.relu(x), ep.ops.copy_to_device([1, 0, 1], "numpy"))
assert type(rows) is WrappedArray
assert ep.ops.copy_to_host(rows).tolist() == [[3, 0], [0, 2], [3, 0]]
assert ep.ops.negative(x, out=x) is x
assert ep.ops.copy_to_host(x).tolist() == [[1, -2], [-3, 4]]
for operands, out, words in (((x,), x.array, "out must be a WrappedArray, not ndarray"),
                             ((x.array,), x, "out must be a numpy.ndarray, not WrappedArray")):
    try:
        ep.ops.relu(*operands, out=out)
        raise AssertionError
    except TypeError as error:
        assert str(error) == words
"""


def test_operators_run_on_its_arrays(example):
    example.python("-c", OPERATORS)


METHODS = """
import numpy as np
import ep.ops
from ep.common.host.arrays import WrappedArray

x = ep.ops.copy_to_device(np.float32([[1, 2, 3], [4, 5, 6]]), "numpy")
assert (x.ndim, len(x)) == (2, 2)
for shape in ((3, 2), (-1,), (1, 6, 1)):
    for reshaped in (x.reshape(shape), x.reshape(*shape)):
        assert type(reshaped) is WrappedArray
        assert ep.ops.copy_to_host(reshaped).tolist() == np.arange(1, 7).reshape(shape).tolist()
assert ep.ops.copy_to_host(-x).tolist() == [[-1, -2, -3], [-4, -5, -6]]
for refused in (bool, np.asarray, lambda x: len(x.reshape(6)[0])):
    try:
        refused(x)
        raise AssertionError
    except (TypeError, ep.UnsupportedPrimitiveError) as error:
        words = str(error)
        assert "copy_to_host" in words or "CopyNd(max_num_dims=8) on numpy is not supported" in words, words
"""


def test_arrays_have_operators(example):
    example.python("-c", METHODS)


@pytest.mark.parametrize("lent", [False, pytest.param(True, marks=pytest.mark.ep_long)])
def test_functions_of_others_stay_on_its_arrays(example, lent):
    """Of some, the device lacks a primitive, and the error says which one, unless all are lent to it."""
    program = (Path(__file__).parent / "composed_functions.py").read_text()
    said = example.python("-c", program, *["lent"] * lent)
    assert said.count("agrees") > (20 if lent else 5), said
    assert ("lacks" in said) is not lent


@pytest.mark.ep_long
def test_the_commands_know_it(example, tmp_path):
    """The commands of `ep` use the device, and print the values that it reports."""
    np.save(tmp_path / "x.npy", np.array([-1, 2], np.float32))
    run = f"run relu --x {tmp_path / 'x.npy'} --out {tmp_path / 'y.npy'} --device numpy"
    commands = [run, "devices", "doctor", "cache warm --device numpy --jobs 1", "cache info"]
    code = f"""
from ep.cli.main import main
for one in {commands}:
    assert main(one.split()) == 0, one
    print("=== next ===")
"""
    ran, devices, doctor, warmed, info, _ = example.python("-c", code).split("=== next ===\n")
    assert "copied there and back" in ran
    assert np.load(tmp_path / "y.npy").tolist() == [0, 2]
    assert f"numpy: {np.__version__}, alignment: 512 bytes" in devices
    lines = [" ".join(line.split()) for line in doctor.splitlines()]
    assert "byte order pass little" in lines
    computes = "numpy:0 computes pass Gather, Expand, ElementwiseUnary and Fill agree"
    assert any(line.startswith(computes) for line in lines)
    assert "21 ready, 0 failed" in warmed  # the example compiles nothing
    assert "numpy" not in info


def test_its_files_are_those_that_it_installs():
    """The files are short, and do not import `ep.cpu`, `ep.cuda` or `ep.ops`."""
    files = {path.name: path.read_text() for path in (EXAMPLE / "ep_numpy_device").glob("*.py")}
    assert set(files) == {"__init__.py", "device.py", "primitives.py"}
    for name, text in files.items():
        assert len(text.splitlines()) < 200, name
        imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
        assert not any(module.startswith(("ep.cpu", "ep.cuda", "ep.ops")) for module in imported)
