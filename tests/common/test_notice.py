"""What somebody at a terminal sees of a first call that takes long."""

import re
import sys

import pytest

from tests.cli.test_terminal import sent_to_terminal
from tests.onnx.test_models import model_of
from tests.subprocesses import run

LATE = "from ep.common import notice\nnotice._LATE = 0.0\nimport numpy as np, ep\nx = np.ones((3, 4), np.float32)\n"
"""Each call takes long."""
OPERATOR = "ep.ops.{0}(x)"
FUSED = "ep.fuse(lambda x: (ep.ops.{0}(x) + 1, ep.ops.sum(ep.ops.{0}(x.T) * 2, axis=0)))(x)"
BLOCK = """
with ep.lazy() as lazy:
    of_x = lazy.view(x)
    of_x[...] = ep.ops.{0}(of_x) - 2
"""
PRIMITIVE = """
from ep.include.primitive import ElementwiseUnaryFactory
op = ep.UnaryOp["k" + "{0}".title()]
stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU).CreateStream()
ep.RequirePrimitive(ElementwiseUnaryFactory, ep.DeviceType.kCPU, op, "float32", "float32").Launch(stream, x, x, 12)
"""
MODEL = """
import ep.onnx
model = ep.onnx.load({path!r})
model(x)
print("again")
model(x + 1)
print("once more")
model(x + 2)
"""
COUNTS = re.compile(r"ep: (\d+) kernels? compiled(?:, (\d+) of (\d+) steps done)?, in \d+ s")
LOADED = re.compile(r"ep: \d+ of \d+ steps done, in \d+ s")


def screen(sent, columns):
    """Return the lines that a terminal shows. It breaks a full line when the next character comes."""
    lines, at = [""], 0
    for character in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent):
        if character == "\r":
            at = 0
        elif character == "\n":
            lines.append("")
        else:
            if at == columns:
                lines.append("")
                at = 0
            lines[-1] = f"{lines[-1][:at]:{at}}{character}{lines[-1][at + 1 :]}"
            at += 1
    return [line.rstrip() for line in lines]


def shown(code, columns=100, **environment):
    """Return the lines on the screen of a process."""
    return screen(sent_to_terminal(columns, sys.executable, "-c", code, **environment), columns)


def counts(lines):
    """Return the counts in lines, as numbers; None for steps that nothing is known of."""
    found = [COUNTS.fullmatch(line) for line in lines]
    return [tuple(one and int(one) for one in match.groups()) for match in found if match]


@pytest.mark.ep_long
@pytest.mark.parametrize("code", [OPERATOR, FUSED, BLOCK, PRIMITIVE], ids=["operator", "fused", "block", "primitive"])
def test_counts_of_a_first_call(kernels, code):
    """A process that finds the kernels on disk compiles none, and one without a terminal says nothing."""
    environment = {"EP_CACHE_DIR": str(kernels)}
    said = counts(shown(LATE + code.format("sinh"), **environment))
    assert said
    assert [one[0] for one in said] == sorted(one[0] for one in said)
    assert said[-1][0] >= 1
    if code in (FUSED, BLOCK):
        assert said[-1][1] == said[-1][2] > 0
    else:
        assert {one[1:] for one in said} == {(None, None)}
    again = shown(LATE + code.format("sinh"), **environment)
    assert not [line for line in again if line and not LOADED.fullmatch(line)]
    if code is OPERATOR:
        assert run(LATE + code.format("cosh"), **environment) == ""


@pytest.mark.ep_long
def test_counts_of_a_model(kernels, tmp_path):
    nodes = [("Sinh", ["x"], ["s"]), ("Transpose", ["s"], ["t"]), ("Softmax", ["t"], ["y"])]
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(nodes, [("x", ("n", 4))], [("y", (4, "n")), ("s", ("n", 4))]).SerializeToString())
    code = LATE + MODEL.format(path=str(path))
    lines = shown(code, EP_CACHE_DIR=str(kernels))
    said = counts(lines[: lines.index("again")])
    assert said[-1][0] >= 1
    assert said[-1][1] == said[-1][2] >= 3  # of nodes, and of launches
    assert lines[lines.index("once more") :] == ["once more", ""]
    assert [line for line in shown(code, EP_CACHE_DIR=str(kernels)) if line] == ["again", "once more"]


@pytest.mark.ep_long
def test_a_call_that_is_quick_or_silent_says_no_counts(kernels):
    environment = {"EP_CACHE_DIR": str(kernels)}
    never = LATE.replace("0.0", "float('inf')")
    assert [line for line in shown(never + OPERATOR.format("sinh"), **environment) if line] == [
        "ep: compiling kernels, which takes a second or more; later processes load them"
    ]
    silent = f"{LATE}with notice.Wait(is_silent=True): ep.ops.cosh(x)"
    off = f"{LATE}import logging; logging.getLogger('ep').setLevel(logging.ERROR); ep.ops.tanh(x)"
    for code in (silent, off):
        assert [line for line in shown(code, **environment) if line] == []


@pytest.mark.ep_long
@pytest.mark.parametrize("begun", ["", "y" * 39, "z" * 40, "w" * 47])
def test_a_line_that_the_program_has_begun_stays(kernels, begun):
    code = f"{LATE}print({begun!r}, end='', flush=True)\n{OPERATOR.format('sinh')}\nprint('done')"
    lines = shown(code, 40, EP_CACHE_DIR=str(kernels))
    own = [begun[k : k + 40] for k in range(0, len(begun), 40)]
    assert lines[: len(own)] == own
    assert " ".join(lines[len(own) :]).startswith("ep: compiling kernels, which takes a second or more; later")
    assert lines[-2:] == ["done", ""]


def test_counts_come_at_twice_the_time(monkeypatch):
    """So a call of an hour has a dozen lines."""
    from ep.common import notice

    now, said = [0.0], []
    monkeypatch.setattr(notice.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(notice, "_is_terminal", lambda: True)
    monkeypatch.setattr(notice, "_say", said.append)
    with notice.Wait() as wait:
        assert wait is not None
        for _ in range(3600):
            now[0] += 1.0
            wait.compiled()
            with notice.Wait() as inner:
                assert inner is None
    assert [int(line.split()[-2]) for line in said] == [*(2**k for k in range(1, 12)), 3600]
    assert said[0] == "ep: 2 kernels compiled, in 2 s"
