"""Every op has all parts that are written by hand, and one that lacks a part is found, with the name of the part."""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest

from ep import BinaryOp, UnaryOp
from ep.common.functor import table
from ep.cpu.kernels import functors as of_cpu
from ep.cuda.compile.math_library import cuda_math_library
from ep.cuda.engine.map import functor as of_cuda
from ep.include.number_kind import Kind
from ep.include.primitive.op_table import OPS
from ep.testing.references import binary, slopes, unary
from tests.ops.gradient_cases import RULES
from tests.primitive import missing_parts as parts
from tests.primitive.missing_parts import WITHOUT_GRADIENT, is_backward, missing_parts
from tests.subprocesses import run


@contextmanager
def without(table_of_parts, key):
    """Take an entry out of a table; afterwards all are there again, in their order, on which other tests depend."""
    whole = dict(table_of_parts)
    del table_of_parts[key]
    try:
        yield
    finally:
        table_of_parts.clear()
        table_of_parts.update(whole)


def test_no_part_of_an_op_is_missing():
    found = [f"{op.name} lacks {part}" for op in (*UnaryOp, *BinaryOp) for part in missing_parts(op)]
    assert not found, "\n".join(["CONTRIBUTING.md, Adding a key, describes each part:", *found])


def test_reasons_are_for_ops_without_a_gradient():
    assert not {*map(parts.function_name, WITHOUT_GRADIENT)} & {*RULES}
    assert not any(map(is_backward, WITHOUT_GRADIENT))


@pytest.mark.parametrize(
    ("op", "holder", "key", "lacks"),
    [
        (UnaryOp.kTanh, unary._FLOAT, UnaryOp.kTanh, ["a reference for float numbers"]),
        (UnaryOp.kConj, unary._COMPLEX, UnaryOp.kConj, ["a reference for complex numbers"]),
        (
            BinaryOp.kFloorDiv,
            binary._INTEGER,
            BinaryOp.kFloorDiv,
            [f"a reference for {kind} numbers" for kind in ("bool", "integer")],
        ),
        (BinaryOp.kCosBackwardWithDyX, slopes._SLOPES, BinaryOp.kCosBackwardWithDyX, ["a slope in "]),
        (BinaryOp.kErfBackwardWithDyX, slopes._BACKWARD, BinaryOp.kErfBackwardWithDyX, ["a reference for float "]),
        (UnaryOp.kTanh, RULES, "tanh", ["a gradient in "]),
        (BinaryOp.kPow, RULES, "pow", ["a gradient in "]),
        (BinaryOp.kPow, parts.THEIRS, "pow", ["a gradient of PyTorch's "]),
        (BinaryOp.kZeta, WITHOUT_GRADIENT, BinaryOp.kZeta, ["a gradient in "]),
    ],
    ids=lambda value: value.name if isinstance(value, UnaryOp | BinaryOp) else None,
)
def test_a_missing_reference_slope_or_gradient_is_found(op, holder, key, lacks):
    with without(holder, key):
        found = [*missing_parts(op)]
    assert len(found) == len(lacks)
    assert all(part.startswith(text) for part, text in zip(found, lacks, strict=True)), found


def test_a_backward_op_of_no_op_is_found(monkeypatch):
    monkeypatch.setitem(OPS, UnaryOp.kTanh, replace(OPS[UnaryOp.kTanh], gradient=()))
    assert [*missing_parts(BinaryOp.kTanhBackwardWithDyY)] == [
        "an op in ep/include/primitive/binary_op.py that it is the gradient of"
    ]


@pytest.mark.parametrize("op", [UnaryOp.kTanh, BinaryOp.kFloorMod], ids=lambda op: op.name)
def test_a_missing_functor_is_found_on_each_device(op):
    of_cuda.op_function.cache_clear()
    with without(table._TABLE, (op, Kind.FLOAT)):
        found = [*missing_parts(op)]
    assert [part.partition(" (")[0] for part in found] == [
        "a functor for float numbers on the CPU",
        "a functor for float numbers on CUDA",
    ]
    assert all(op.name in part for part in found)


@pytest.mark.parametrize("lacking", ["the CPU", "CUDA"])
def test_a_function_that_one_device_lacks_is_found(monkeypatch, lacking):
    if lacking == "CUDA":
        of_cuda.op_function.cache_clear()
        of_cuda._on_loaded.cache_clear()
        monkeypatch.setattr(of_cuda, "cuda_math_library", lambda *of: _Without(cuda_math_library(*of)))
    else:
        library = of_cpu.cpu_math_library
        monkeypatch.setattr(of_cpu, "cpu_math_library", lambda *of: _Without(library(*of)))
    (found,) = missing_parts(UnaryOp.kRint)
    assert found == f"a functor for float numbers on {lacking} (no function)"


class _Without:
    """A math library of a device that lacks a function."""

    def __init__(self, library):
        self.T = library.T

    def use(self, maker):
        raise AttributeError("no function")


@pytest.mark.parametrize(
    ("pattern", "lacks"), [("__init__.pyi", "its types in "), ("support.md", "its row in docs/support.md")]
)
def test_a_missing_line_of_the_stub_and_of_the_documents_is_found(monkeypatch, tmp_path, pattern, lacks):
    for file in ("ep/ops/__init__.pyi", "docs/support.md"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        text = (parts.ROOT / file).read_text()
        if file.endswith(pattern):
            text = re.sub(r"\bkGelu\b", "kGlue", text.replace("def gelu(", "def glue("))
        (tmp_path / file).write_text(text)
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    (found,) = missing_parts(UnaryOp.kGelu)
    assert found.startswith(lacks)


WITHOUT_FUNCTORS = """
import sys
import numpy as np
import ep, ep.ops
from ep import BinaryOp, DeviceType, UnaryOp
from ep.common.functor import lookup, table
from ep.include.number_kind import Kind
from ep.include.primitive import BroadcastElementwiseBinaryFactory, ElementwiseUnaryFactory

for op in (UnaryOp.kTanh, BinaryOp.kFloorMod):
    del table._TABLE[op, Kind.FLOAT]
x, out = np.ones(5, np.float32), np.full(5, 7, np.float32)
unary = ep.NewPrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kTanh, "float32", "float32")
key = BinaryOp.kFloorMod, "float32", "float32", 1
binary = ep.NewPrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, *key)
stream = ep.DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
calls = {
    "kTanh": [
        lambda: unary.Launch(stream, x, out, 5),
        lambda: ep.ops.tanh(x, out=out),
        lambda: ep.fuse(lambda x: ep.ops.tanh(x) + x)(x),
        lambda: ep.grad(lambda x: ep.ops.sum(ep.ops.tanh(x)))(x),
    ],
    "kFloorMod": [
        lambda: binary.Launch(stream, (5,), x, (5,), x, out),
        lambda: ep.ops.floor_mod(x, x, out=out),
        lambda: ep.fuse(lambda x: ep.ops.floor_mod(x, x) + x)(x),
    ],
}
for name, of_name in calls.items():
    for k, call in enumerate(of_name):
        for _ in range(2):
            try:
                call()
            except LookupError as error:
                assert f"{name} has no functor for float numbers" in str(error), error
            else:
                raise SystemExit(f"call {k} of {name} raised no error")
assert out.tolist() == [7] * 5
"""


def test_an_op_without_a_functor_raises_an_error_with_its_name():
    run(WITHOUT_FUNCTORS)
