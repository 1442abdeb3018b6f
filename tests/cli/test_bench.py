"""`ep bench` and `ep demo`: results are checked, times are not."""

import functools
import re
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from ep.bench import plot, timing
from ep.bench.case import Case
from ep.bench.cases import bench_cases, copy
from ep.bench.timing import interleaved
from ep.bench.trial import set_up
from ep.cli import bench, demo
from ep.cli.names import factory_of
from ep.cli.present import devices
from ep.include.compiled_kernels import KernelsOnDisk
from ep.include.primitive import registered

CASES = [*bench_cases(2**12), copy(2**12)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.primitive.__name__}: {case.name}")
def test_case(case):
    made, again = (case.make(np.random.default_rng(1)) for _ in range(2))
    for one, other in zip(made, again, strict=True):
        np.testing.assert_array_equal(one, other)
    out = np.empty(case.out_dims, case.out_type)
    case.numpy(made, out)()
    assert case.is_right(out.copy(), out)
    wrong = out.copy()
    wrong.flat[-1] = not wrong.flat[-1] if out.dtype == bool else wrong.flat[-1] + 1
    assert not case.is_right(wrong, out)
    assert out.nbytes <= case.bytes_moved <= 2 * out.nbytes + sum(array.nbytes for array in made)
    for device in devices():
        trial = set_up(case, device, factory_of(case.primitive))
        assert trial.is_right
        trial.launch()


def test_wrong_results_are_found(monkeypatch):
    monkeypatch.setattr(Case, "bind", lambda case, primitive, stream, inputs, out: functools.partial(out.fill, 0))
    assert not set_up(CASES[0], devices()[0], factory_of(CASES[0].primitive)).is_right


def test_every_implemented_primitive_has_cases():
    implemented = {entry.interface for entry in registered()}
    assert {case.primitive for case in CASES} >= implemented
    assert {case.primitive for case in demo.demo_cases()} >= implemented


def test_timing():
    calls = []
    times = interleaved({"a": lambda: calls.append("a"), "b": lambda: sum(range(100_000))}, seconds=0.01)
    assert set(times) == {"a", "b"}
    assert 0 < times["a"].lower <= times["a"].median <= times["a"].upper < times["b"].median
    assert len(calls) > 100


def test_a_turn_that_was_settled_has_several_samples(monkeypatch):
    events = []
    monkeypatch.setattr(timing, "_first", lambda call, seconds: 0.001)
    monkeypatch.setattr(timing, "_sample", lambda call, repeats: events.append(repeats) or 0.001)
    interleaved({"a": None}, seconds=0.0, settle=lambda: events.append("settled"))
    assert events == ["settled", 10, *[1] * 5] * 5


@pytest.fixture
def quick(monkeypatch):
    """Use few and small cases, timed for a moment."""
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(demo, "_SECONDS", 0.0)
    monkeypatch.setattr(demo, "demo_cases", lambda: bench_cases(2**12)[:9:4])


def test_bench_json(ep, quick):
    done = ep("bench", "--size", "small", "--primitive", "gather", "--primitive", "expand", "--format", "json")
    assert done.code == 0
    report = done.json()
    assert (report["size"], report["elements"]) == ("small", 4096)
    (device,) = (device for device in report["devices"] if device["device"] == "cpu:0")
    assert {row["primitive"] for row in device["cases"]} == {"Gather", "Expand"}
    for row in device["cases"]:
        assert row["right"] is True
        assert row["ep_quartiles"][0] <= row["ep_seconds"] <= row["ep_quartiles"][1]
        assert row["numpy_seconds"] > 0
        assert row["share_of_copy"] == pytest.approx(row["gb_per_s"] / device["copy_gb_per_s"])


def test_bench_table(ep, quick):
    done = ep("bench", "--size", "small", "--primitive", "BatchGather", "--device", "cpu")
    assert done.code == 0
    title, heading, row = done.out.splitlines()
    assert title.startswith("cpu:0: results of about 4,096 elements; a copy runs at ")
    assert heading.split()[:2] == ["primitive", "case"]
    assert re.search(r"  ep, (us|ms)  NumPy, \1  ", heading)
    assert re.search(r"  [\d.,]+  +[\d.,]+  +[\d.]+x ", row)
    assert row.startswith("BatchGather ")
    assert row.endswith(" ok")


def test_bench_without_cases(ep, monkeypatch):
    monkeypatch.setattr(bench, "bench_cases", lambda size: CASES[:8])
    done = ep("bench", "--primitive", "Softmax")
    assert done.code == 1
    assert done.err.startswith("ep bench: error: only Gather, BatchGather, Expand,")


def test_demo(ep, quick):
    done = ep("demo")
    assert done.code == 0
    assert "The first run compiles" in done.out
    assert "cpu:0: the first launches, which compile or load kernels, took " in done.out
    assert sum(line.endswith("  ok") for line in done.out.splitlines()) == 3 * len(devices())
    assert done.out.splitlines()[-1].startswith("All results agree with NumPy's.")


def test_the_demo_compiles_ahead_where_no_kernels_are(ep, quick, monkeypatch):
    """Here threads compile instead of the processes of `ep cache warm`."""
    none = {"cpu": KernelsOnDisk(None)}
    monkeypatch.setattr(demo.kernel_caches, "on_disk", lambda types: none if types[0].tag == "cpu" else {})
    monkeypatch.setattr(demo, "available_threads", lambda: 3)
    monkeypatch.setattr(demo, "processes", ThreadPoolExecutor)
    done = ep("demo")
    assert "cpu:0: no kernels are on disk yet; 3 processes compile those of the demo." in done.out
    assert "3 of 3 cases are compiled" in done.out
    assert done.code == 0

    def died(*args):
        raise BrokenProcessPool("killed")

    monkeypatch.setattr(demo, "_launch_once", died)
    done = ep("demo")
    assert done.err == "ep: note: a process that compiled kernels died: killed\n"
    assert done.code == 0


def test_the_demo_compiles_each_case_once_in_groups():
    numbers = [number for group in demo._alike() for number in group]
    assert sorted(numbers) == list(range(len(demo.demo_cases())))
    assert all(len({type(demo.demo_cases()[number].work) for number in group}) == 1 for group in demo._alike())


def test_wrong_results_fail(ep, quick, monkeypatch):
    monkeypatch.setattr("ep.bench.cases.Case.is_right", lambda self, result, expected: False)
    for command in (["demo"], ["bench", "--size", "small", "--primitive", "Expand"]):
        done = ep(*command)
        assert done.code == 1
        assert " fail\n" in done.out


def test_plot(ep, quick, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "_PLOTTED", (2**10, 2**12, 2**14))
    path = tmp_path / "plot.svg"
    done = ep("bench", "--primitive", "gather", "--device", "cpu", "--plot", str(path))
    assert (done.code, done.out.splitlines()[-1]) == (0, f"{path}: 3 cases")
    drawn = path.read_text()
    assert "<svg" in drawn
    for path, wrong in ((tmp_path / "plot.txt", ".svg"), (tmp_path / "none" / "plot.svg", "is not a folder")):
        done = ep("bench", "--plot", str(path))
        assert done.code != 0
        assert wrong in done.err
        assert not path.exists()


def test_lines_of_a_plot(tmp_path):
    points = [plot.Point(2**n, {"ep, cpu:0": 1e-3, "numpy": 2e-3}) for n in (4, 8, 12)]
    plot.draw({"a case": points}, {"a copy": 20.0}, "a machine", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to plot"):
        plot.draw({}, {}, "a machine", tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()
