"""The accuracy benchmark: its arguments, the merge of pieces, and the command."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.accuracy import measure
from benchmarks.accuracy.arguments import AllFloat32, Sample
from benchmarks.accuracy.measure import Errors, Task
from ep import UnaryOp


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sample_is_finite_spread_and_repeatable(dtype):
    sample = Sample(np.dtype(dtype), 2**20 + 1000)
    pieces = [sample.piece(number) for number in range(sample.num_pieces)]
    x = np.concatenate(pieces)
    assert sample.num_pieces == 2
    assert x.size == sample.size == 2**20 + 1000
    assert np.isfinite(x).all()
    assert np.count_nonzero(x < 0) == x.size // 2
    info = np.finfo(dtype)
    assert np.count_nonzero(np.abs(x) < info.tiny) > 100  # subnormal
    assert np.abs(x).max() > info.max / 2
    assert sample.piece(1).tobytes() == pieces[1].tobytes()


def test_all_float32_values_are_there_once():
    everything = AllFloat32()
    assert everything.num_pieces * everything.piece(0).size == everything.size == 2**32
    ends = [everything.piece(number).view(np.uint32)[[0, -1]].tolist() for number in (0, 1, everything.num_pieces - 1)]
    assert ends == [[0, 2**20 - 1], [2**20, 2**21 - 1], [2**32 - 2**20, 2**32 - 1]]


def test_errors_of_pieces_are_put_together():
    errors = Errors("a", 0.5, 10.0, 40, 1.0, 2.0, 3.0)
    errors.add(Errors("a", 0.75, 20.0, 20, 4.0, 5.0, 6.0))
    errors.add(Errors("a", 0.25, 0.0, 0, 7.0, 8.0, 9.0))
    assert errors == Errors("a", 0.75, 30.0, 60, 4.0, 5.0, 6.0)
    assert errors.mean == 0.5


def test_a_wrong_result_shows(monkeypatch):
    off = lambda x: np.nextafter(np.nextafter(np.exp2(x), np.float32(np.inf)), np.float32(np.inf))  # noqa: E731
    monkeypatch.setattr(measure, "peers", lambda op: [("off", off)])
    ours, theirs = Task(UnaryOp.kExp2, "cpu", Sample(np.dtype(np.float32), 2**12), True).errors_of(0)
    assert (ours.implementation, theirs.implementation) == ("ep", "off")
    assert ours.maximum <= 1
    assert theirs.maximum >= 1.5


def run(*options):
    command = [sys.executable, "-m", "benchmarks.accuracy", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.ep_long
def test_the_command(tmp_path):
    done = run("--ops", "kExp", "kErf", "--dtype", "float64", "--samples", "64", "--json", str(tmp_path / "a.json"))
    assert done.returncode == 0, done.stderr
    assert "float64: errors in ulps over 64 arguments" in done.stdout
    assert "kErf*" in done.stdout
    document = json.loads((tmp_path / "a.json").read_text())
    assert [result["op"] for result in document["results"]] == ["kExp", "kErf"]
    assert document["results"][0]["errors"]["ep"]["maximum"] <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sweep", "--dtype", "float64"), "--sweep goes through the float32 values"),
        (("--ops", "kFoo"), "no such op: kFoo"),
        (("--samples", "3"), "--samples is 3; it must be at least 4"),
    ],
)
def test_what_it_refuses(options, message):
    done = run(*options)
    assert done.returncode == 2
    assert message in done.stderr
