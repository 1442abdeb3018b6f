"""Sources of models, and what of them stays in memory."""

import re

import numpy as np
import pytest

import ep.onnx
from ep.common.arrays.on_device import arrays_on
from ep.expressions.folding import FoldingTrace, Folds
from ep.expressions.named_program import NamedProgram
from ep.include.device_type import DeviceType
from tests.onnx.test_models import model_of


@pytest.mark.parametrize("source", [None, 3, ["model.onnx"], bytearray(b"x")])
def test_something_that_is_no_source(source):
    with pytest.raises(TypeError, match=re.escape(f"or a ModelProto, not {type(source).__name__}")):
        ep.onnx.load(source)


@pytest.mark.parametrize("contents", [b"\xff" * 9, b""])
def test_a_file_that_is_no_model_is_named(tmp_path, contents):
    path = tmp_path / "model.onnx"
    path.write_bytes(contents)
    for source in (path, str(path)):
        with pytest.raises(ep.onnx.ModelError, match=rf"^{re.escape(str(path))}: it is not a"):
            ep.onnx.load(source)
    with pytest.raises(ep.onnx.ModelError, match=r"^it is not a"):
        ep.onnx.load(contents)


def test_a_model_has_no_reference_to_its_proto():
    model = ep.onnx.load(model_of([("Relu", ["x"], ["y"])], [("x", (3,))], [("y", (3,))]))
    assert model._source.model is None
    np.testing.assert_array_equal(model(x=np.array([-1, 0, 2], np.float32))[0], [0, 0, 2])


def test_a_plan_that_another_thread_keeps_meanwhile():
    kept, base, x = [], arrays_on(DeviceType.kCPU), np.ones((3, 5), np.float32)
    trace = FoldingTrace(base, "a graph", Folds())
    given = trace.give(None, x.shape, x.dtype)
    program = NamedProgram(trace, {"x": given}, {"y": ep.ops.exp(given)}, ["y"], [])

    def keep(launches):
        program.keep = None  # by another thread
        kept.append(launches)

    program.kept_by(keep, at_once=True)
    for _ in range(3):
        np.testing.assert_array_equal(program.outputs(base, {"x": x})[0], ep.ops.exp(x))
    assert [one.inputs for one in kept] == [["x"]]
