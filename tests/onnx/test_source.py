"""Sources of models, and what of them stays in memory."""

import re

import numpy as np
import pytest

import ep.onnx
from ep.common.arrays.on_device import arrays_on
from ep.expressions.memory import Arenas
from ep.expressions.runs import Runs
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
    kept = []

    class Recorded:
        whole = None

        def outputs(self, base, given, arena):
            return ()

        def is_recorded(self, arena):
            return True

        def launches(self, arena):
            runs._keep = None  # by another thread
            return "launches"

    runs = Runs(Recorded(), Arenas(), kept.append, at_once=True)
    assert runs.outputs(arrays_on(DeviceType.kCPU), {}) == ()
    assert kept == ["launches"]
