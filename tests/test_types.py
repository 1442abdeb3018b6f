"""What checkers of types say of programs of users, which are not in the folder of the package."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from typing import get_args

import pytest

import ep
from ep.ops.indices import MODES, IndexMode

RIGHT = """
import numpy as np

import ep
import ep.onnx
from ep import Array, ArrayLike, DTypeLike, ops

@ep.fuse
def step(p: Array, g: Array, m: Array, rate: float, beta: float = 0.9) -> tuple[Array, Array]:
    m = beta * m + (1 - beta) * g
    return p - rate * m, m

@ep.fuse(round_each=True)
def scores(x: Array, scale: float) -> Array:
    return ops.softmax(x / scale, axis=-1) @ x.T

class Layer:
    @ep.fuse
    def forward(self, x: Array) -> Array:
        return ops.relu(x[1:]) + x.sum(axis=0)

def loss(w: Array, x: Array) -> Array:
    return ops.mean((x @ w) ** 2)

def converted(x: ArrayLike, dtype: DTypeLike = "float32") -> Array:
    return ops.cast(x, dtype)

x = np.ones((3, 4), np.float32)
p, m = step(x, x, x, 0.1)
p, m = step(p, x, m, rate=0.1, beta=0.5)
step(p, x, m, 0.05, out=(p, m))
print(step.explain(x, x, x, 0.1), scores(x, 0.5).shape, Layer().forward(x).dtype)
y = ops.relu(x)
print(y.tolist(), float(ops.sum(y)), y[0], np.asarray(y))
taken: np.ndarray = ops.gather(x, [0, 1], mode="clip")
parts = [part.shape for part in ops.split(ops.concat([x, taken], axis=0), 5)]
gradient = ep.grad(loss)(x.T, x)
value, (of_w, of_x) = ep.value_and_grad(loss, (0, 1))(x.T, x)
for dtype in (np.float64, np.dtype("int8"), bool, ep.DataType.kBFloat16):
    converted([1, 2], dtype)
model = ep.onnx.load("model.onnx")
(found,) = model(x)
print(model.run(["logits"], {"x": x}), ep.sbp.Split(0), ops.full((2, 3), 1.5))
with ep.lazy() as block:
    view = block.view(x)
    view += 1
"""
WRONG = """
import numpy as np

import ep
import ep.onnx
from ep import Array, ops

@ep.fuse
def step(p: Array, rate: float) -> Array:
    return p * rate

x = np.ones((3, 4), np.float32)
step(x)  # wrong
step(x, "fast")  # wrong
step(x, rte=1.0)  # wrong
step.explian(x, 1.0)  # wrong
text: str = step(x, 0.5)  # wrong
ep.grad(lambda w: w)(x, 1, 2)  # wrong
ep.value_and_grad(step)(x)  # wrong
number: int = ops.relu(x)  # wrong
ops.gather(x, [0], mode="clp")  # wrong
ops.relu("abc")  # wrong
ops.relu(x, out=3)  # wrong
ops.cast(x, 3)  # wrong
ops.rellu(x)  # wrong
ep.fuze(step)  # wrong
ep.onnx.laod("model.onnx")  # wrong
"""


def mypy(folder):
    return [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(folder / "cache")]


def pyright(folder):
    if shutil.which("pyright", path=os.path.dirname(sys.executable)) is None:
        pytest.skip("pyright is not installed: pip install 'ep-primitives[test]' does it")
    return [os.path.join(os.path.dirname(sys.executable), "pyright"), "--pythonpath", sys.executable]


@pytest.mark.ep_long
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_programs_of_users(tmp_path, checker):
    """All errors, and only these, are in the lines that are wrong."""
    files = {"right.py": RIGHT, "wrong.py": WRONG}
    for name, text in files.items():
        (tmp_path / name).write_text(text.lstrip())
    done = subprocess.run([*checker(tmp_path), *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?: -|:) error", done.stdout)
    wrong = {number for number, line in enumerate(WRONG.lstrip().splitlines(), 1) if line.endswith("# wrong")}
    assert {(name, int(number)) for name, number in said} == {("wrong.py", number) for number in wrong}, (
        done.stdout + done.stderr
    )


def test_the_right_program_runs(tmp_path, monkeypatch):
    from tests.onnx.test_models import model_of

    nodes = [("Relu", ["x"], ["logits"])]
    contents = model_of(nodes, [("x", (3, 4))], [("logits", (3, 4))]).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(contents)
    monkeypatch.chdir(tmp_path)
    exec(compile(textwrap.dedent(RIGHT), "right.py", "exec"), {"__name__": "right"})


def test_modes_are_those_of_the_type():
    assert get_args(IndexMode) == MODES
    assert {ep.DataType.kFloat.dtype, ep.Array, ep.ArrayLike, ep.DTypeLike}  # they are there at run time
