"""The types of this project's files, determined by a real model."""

import json
from pathlib import Path

import numpy as np
import pytest

from examples import file_types

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(file_types.folder() is None, reason="the package magika is not installed: no model")


def test_the_types_of_files_here():
    files = {"README.md": "markdown", "pyproject.toml": "toml", "ep/ops/softmax.py": "python", ".ci/run": "shell"}
    files |= {"docs/performance.png": "png", "docs/pictures/joins.svg": "svg"}
    case = {"op": "gelu", "elements": 65536, "seconds": 2.5e-05}
    text = json.dumps({"machine": {"name": "x86-64", "cores": 2}, "cases": [case, case | {"op": "cast"}]}, indent=1)
    names = file_types.Namer().names([*((ROOT / name).read_bytes() for name in files), text.encode()])
    assert [name for name, _ in names] == [*files.values(), "json"]
    assert all(score > 0.9 for _, score in names)


def test_scores_are_those_of_onnx_runtime(rng):
    runtime = pytest.importorskip("onnxruntime")
    namer = file_types.Namer()
    session = runtime.InferenceSession(file_types.folder() / "model.onnx", providers=["CPUExecutionProvider"])
    for rows in (1, 5):
        features = rng.integers(0, 257, (rows, 2048)).astype(np.int32)
        (scores,) = namer.model(bytes=features)
        np.testing.assert_allclose(scores, session.run(None, {"bytes": features})[0], rtol=1e-5, atol=1e-6)
