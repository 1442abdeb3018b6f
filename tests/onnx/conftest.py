"""Fixtures of tests of models."""

import numpy as np
import pytest
from onnx import TensorProto

from ep.include import additions
from tests.onnx.test_models import model_of


@pytest.fixture(autouse=True)
def without_additions(monkeypatch):
    """Let no kernel of another test count."""
    monkeypatch.setattr(additions, "_ADDED", set())


@pytest.fixture
def gathered(rng):
    """Return a model whose indices are an input and whose rows are free, and inputs of 7 rows."""
    table, w = rng.standard_normal((13, 5), np.float32), rng.standard_normal((5, 3), np.float32)
    nodes = [("Gather", ["t", "i"], ["g"]), ("MatMul", ["g", "w"], ["m"]), ("Relu", ["m"], ["y"])]
    inputs, outputs = [("i", ("rows",), TensorProto.INT64)], [("g", ("rows", 5)), ("y", ("rows", 3))]
    return model_of(nodes, inputs, outputs, [("t", table), ("w", w)]), {"i": rng.integers(0, 13, 7)}, table, w
