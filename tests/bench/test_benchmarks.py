"""`python -m benchmarks`: its selection, measurements and reports; times are not checked."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import calls, convolutions, launches, norms, options, pauses, plot, report
from benchmarks.cases.common import DTYPES
from benchmarks.cases.sets import SETS
from benchmarks.fuse import libraries
from benchmarks.fuse import run as fused
from benchmarks.fuse.expressions import EXPRESSIONS
from benchmarks.measure import Bench
from benchmarks.peers import Contender, numpy_
from benchmarks.scheduling import Scheduled, Threads
from benchmarks.selection import Selection
from ep import DeviceManagerRegistry, DeviceType
from ep.bench.case import Case
from ep.bench.plot import Point

ROOT = Path(__file__).resolve().parents[2]


class Wrong(numpy_.Adapter):
    name = "wrong"

    def prepare(self, case, inputs, out):
        return Contender(partial(out.fill, 0), lambda: out)


@pytest.fixture
def bench():
    cpu = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = cpu.GetNumThreads()
    yield Bench([numpy_.Adapter(1), Wrong(1)], 1, 0.0)
    cpu.SetNumThreads(threads)


def result(ratio, name="relu", size=2**16, **more):
    seconds = {"ep": 1.0, "numpy": ratio}
    return {
        **{"set": "unary", "case": name, "group": "memory-bound", "dtype": "float32", "size": size, "elements": size},
        **{"bytes": 8 * size, "seconds": seconds, "quartiles": {n: [s, s] for n, s in seconds.items()}},
        **{"best_peer": "numpy", "ratio": ratio, "share_of_copy": 0.5, "wrong": {}, **more},
    }


@pytest.mark.parametrize("name", SETS)
def test_measure(bench, name):
    case = next(iter(SETS[name](2**12, np.dtype(np.float32))))
    found = bench.measure(case)
    assert set(found["seconds"]) == {"ep", "numpy"}
    assert found["best_peer"] == "numpy"
    assert found["ratio"] == found["seconds"]["numpy"] / found["seconds"]["ep"]
    assert found["dtype"] == "float32"
    assert set(found["wrong"]) == {"wrong"}
    json.dumps(found)


@pytest.mark.parametrize("behind", [0, 16, 48])
def test_where_arrays_begin(behind):
    (case, *_) = SETS["gather"](2**12, np.dtype(np.float32))
    places = []

    class Seen(numpy_.Adapter):
        def prepare(self, case, inputs, out):
            places.extend(array.ctypes.data % 64 for array in (*inputs, out))

    cpu = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = cpu.GetNumThreads()
    try:
        Bench([Seen(1)], 1, 0.0, behind).measure(case)
    finally:
        cpu.SetNumThreads(threads)
    assert places == [behind] * 3


def test_what_numpy_lacks_is_compared_all_the_same(bench, monkeypatch):
    (case,) = (case for case in SETS["unary"](5000, np.dtype(np.float64)) if case.name == "erf")
    assert set(bench.measure(case)["seconds"]) == {"ep"}
    monkeypatch.setattr(Case, "bind", lambda case, primitive, stream, inputs, out: partial(out.fill, 0.5))
    found = bench.measure(case)
    assert found["seconds"] == {}
    assert found["ratio"] is None
    assert "ep" in found["wrong"]


def test_selection():
    def count(*sizes, quick=False, pattern=""):
        return len(list(Selection(["unary"], DTYPES[:1], sizes or None, quick, pattern)))

    assert 0 < count(quick=True) < count()
    assert count(2**20) == len(list(SETS["unary"](2**20, DTYPES[0])))
    assert count(64, 65, pattern="^exp$") == 2


@pytest.mark.parametrize(
    ("group", "name", "size"),
    [
        ("memory", "add, outer product", 2**20),
        ("products", "16 rows, 384 to 1,536", 7),
        ("rows", "LogSoftmax of 50,257 columns", 2**17),
        ("odd", "sum of channels", None),
        ("place", "200,009 rows of 256 B", None),
    ],
)
def test_groups_of_cases_that_run_on_request(group, name, size):
    assert group not in options.parse([]).only
    assert options.parse(["--only", group]).only == (group,)
    found = list(Selection([group], DTYPES, size and (size,), False, ""))
    assert {of_group for of_group, *_ in found} == {group}
    assert name in {case.name for *_, case in found}
    assert {case.out_type for *_, case in found} >= {dtype for dtype in DTYPES if dtype.kind not in "iu"}


GROUPS = {
    # the module of a group, settings of it that make it short, arguments, a case of it, and what it shows
    "calls": (calls, {"_RUNS": 1}, ["--threads", "1"], "mul(x, 2.5)", "mul(x, 2.5)"),
    "conv": (
        convolutions,
        {
            "_RUNS": 1,
            "CONVOLUTIONS": {
                name: convolutions.Convolution((1, 2, 9), (4, 2, 5), stride=2, pad=1, by_w=by_w)
                for name, by_w in (("5, 2 to 4, 9", False), ("by w, 5, 2 to 4, 9", True))
            },
        },
        ["--threads", "1"],
        "5, 2 to 4, 9",
        "5, 2 to 4, 9",
    ),
    "norms": (
        norms,
        {"_RUNS": 1, "LAYERS": [(3, 5)], "GROUPS": [(1, 6, 2, 3)], "PRODUCTS": [(2, 3, 5)]},
        ["--threads", "1"],
        "layer norm's gradient, 3 x 5",
        "group norm, 1 x 6 x 2 x 2 by 3",
    ),
    "pauses": (pauses, {"_SAMPLES": 2, "_SECONDS": {"0 ms": 0.0}}, ["--threads", "2"], "matmul", "on one processor"),
    "launches": (
        launches,
        {"_ROWS": 3, "_ARRAYS": 5, "_SECONDS": 0.001},
        [],
        "many_arrays",
        "binary, row: new dims",
    ),
}


@pytest.mark.parametrize("group", GROUPS)
def test_groups_that_run_on_request(group, capsys, monkeypatch):
    module, settings, given, case, shown = GROUPS[group]
    for name, value in settings.items():
        monkeypatch.setattr(module, name, value)
    assert group not in options.parse([]).only
    assert options.parse(["--only", group]).only == (group,)
    measured = module.measure(options.parse(["--peers", "numpy", *given]))
    assert case in measured
    module.show(measured)
    assert shown in capsys.readouterr().out


def test_calls_have_the_results_of_numpy():
    ours, theirs = calls.of_ep(), calls.of_numpy()
    for name, call in theirs.items():
        np.testing.assert_allclose(ours[name](), call(), rtol=1e-5, atol=1e-5)


def test_pauses_beside_pytorch(capsys, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    for name, value in {"_SAMPLES": 1, "_SECONDS": {"0 ms": 0.0}, "_TURNS": 2, "_ROUNDS": 1}.items():
        monkeypatch.setattr(pauses, name, value)
    # a new process would have the settings of the module
    monkeypatch.setattr(pauses, "ProcessPoolExecutor", lambda count, context: ThreadPoolExecutor(count))
    found = pauses.measure(options.parse(["--peers", "torch", "--threads", "2"]))
    for of_op in found.values():
        assert {"relu of torch", "matmul of torch", "relu of ep", "matmul of ep"} < set(of_op)
        assert of_op["relu of torch"]["ep"]["quiet"] > 0
        assert of_op["matmul of ep"]["torch"]["quiet"] > 0
    pauses.show(found)
    assert "matmul of ep" in capsys.readouterr().out


def test_pauses_of_several_processes_beside_busy_ones(capsys, monkeypatch):
    started, alive = [], []

    class Started(subprocess.Popen):
        def __init__(self, *args):
            super().__init__(*args)
            started.append(self)

    def measured(arguments):
        alive.append([process.poll() is None for process in started])
        of_ep = {"seconds": len(alive) * 1e-6, "together": 0.5, "waited": 0.0, "stolen": 0}
        return {"relu": {"0 ms": {"ep": of_ep}}}

    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.setattr(pauses, "_measure_in_a_process", measured)
    given = ["--only", "pauses", "--repeat", "3", "--busy", "2"]
    pauses.show(pauses.measure(options.parse(given)))
    assert alive == [[True, True]] * 3
    assert [process.poll() is None for process in started] == [False, False]
    shown = capsys.readouterr().out
    assert "2 (3)" in shown  # microseconds of the median process, and of the slowest one
    assert "50%" in shown
    with pytest.raises(SystemExit):
        options.parse(["--only", "unary", "--busy", "1"])
    assert "argument --busy: is 1, but only --only pauses uses it" in capsys.readouterr().err


def test_the_group_of_expressions(capsys, monkeypatch):
    assert "fuse" not in options.parse([]).only
    monkeypatch.setattr(fused, "SHAPES", {60: (5, 12)})
    given = ["--only", "fuse", "--peers", "numpy", "--threads", "1", "--sizes", "60", "--seconds", "0"]
    found = fused.measure(options.parse([*given, "--dtypes", "float32,int8", "--cases", "layer norm"]))
    assert all(set(case["seconds"]) == {"ep", "ep.ops", "numpy"} and not case["different"] for case in found["cases"])
    fused.show({"cases": [*found["cases"], found["cases"][0] | {"different": ["numpy"]}]})
    out = capsys.readouterr().out
    assert "float32, 60 elements" in out
    assert "not timed: numpy of layer norm, float32" in out


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_one_by_one_and_by_numpy(name):
    expression = EXPRESSIONS[name]
    arrays = expression.draw(np.random.default_rng(3), 5, 12)
    prepare = libraries.libraries(["numpy"], 1)
    ours, numpy = prepare["ep.ops"](expression, arrays)(), prepare["numpy"](expression, arrays)
    results = ours if isinstance(ours, tuple) else (ours,)
    assert all(one.dtype == np.float64 and np.isfinite(one).all() for one in results)
    if numpy is None:
        assert name in ("gelu(x + b) c", "Black-Scholes")
        return
    expected = numpy()
    for one, other in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_threads_and_what_the_kernel_did_with_them():
    before = Threads({"1": (0, 0, 0), "2": (0, 5_000, 1), "3": (0, 0, 0)}, 7)
    later = Threads({"1": (900_000, 0, 0), "2": (800_000, 2_005_000, 0), "3": (10, 0, 1), "4": (10**9, 0, 1)}, 7)
    assert before.until(later) == Scheduled(threads=2, processors=1, waited=0.002, stolen=False)
    assert before.until(later._replace(steal=8)).stolen
    now = Threads.now()
    assert not now.threads or str(threading.get_native_id()) in now.threads


def test_options():
    given = options.parse(["--quick", "--only", "gather,startup", "--sizes", "1,2^20", "--threads", "3"])
    assert (given.only, given.sizes, given.threads) == (("gather", "startup"), (1, 2**20), 3)
    assert options.SETS[:-1] == tuple(SETS)
    assert tuple(dtype.name for dtype in DTYPES) == options.DTYPES
    for wrong in (["--only", "unery"], ["--sizes", "0"], ["--sizes", "2^x"], ["--threads", "0"], ["--dtypes", "half"]):
        with pytest.raises(SystemExit):
            options.parse(wrong)


def test_medians_over_runs_and_their_summary(capsys):
    (combined,) = report.combined([[result(ratio)] for ratio in (0.9, 3.0, 1.0)])
    assert (combined["ratio"], combined["ratios"], combined["runs"]) == (1.0, [0.9, 3.0, 1.0], 3)
    results = report.combined([[result(0.5), result(2.0, "abs"), result(4.0, "neg", 1, wrong={"jax": "differs"})]])
    report.show(results)
    report.summarise(results)
    lines = capsys.readouterr().out.splitlines()
    assert "   1.59  all cases (3 cases)" in lines
    assert "ratio below 0.95 at 65,536 elements or more: 1 of 2" in lines
    assert "   0.50  unary relu, float32, 65,536 elements: numpy" in lines
    assert lines[-1] == "not timed: jax, unary neg, float32, 1 elements: differs"


@pytest.mark.ep_long
def test_the_command(tmp_path):
    """The command measures in two pieces, and then reads both back together."""
    command = [sys.executable, "-m", "benchmarks", "--peers", "numpy", "--seconds", "0", "--dtypes", "float32"]
    files = [tmp_path / "expand.json", tmp_path / "unary.json"]
    for file in files:
        pieces = ["--only", file.stem, "--cases", "relu|leading", "--sizes", "64,100,4096", "--json", str(file)]
        subprocess.run([*command, *pieces], cwd=ROOT, check=True, capture_output=True)
    read = [sys.executable, "-m", "benchmarks", "--read", *map(str, files), "--json", str(tmp_path / "both.json")]
    done = subprocess.run(read, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "all cases (6 cases)" in done.stdout
    both = json.loads((tmp_path / "both.json").read_text())
    assert [len(run) for run in both["runs"]] == [3, 3]
    assert both["machine"]["processors"] > 0


def test_panels():
    results = [result(2.0, size=2**n) for n in (12, 4, 8)]
    (points,) = plot.panels([*results, *(result(2.0, "rare", 2**n) for n in (4, 8))]).values()
    assert points == [Point(r["bytes"], r["seconds"]) for r in sorted(results, key=lambda r: r["bytes"])]


def test_libraries_are_held_to_avx2():
    """Libraries choose their instructions at import, so this runs in another process."""
    assert options.parse([]).isa == "host"
    given = options.parse(["--isa", "avx2", "--peers", "numpy,onnxruntime"])
    assert (given.isa, given.peers) == ("avx2", ("numpy",))
    code = """
import warnings
warnings.simplefilter("error")
from benchmarks.instructions import hold
hold("avx2")
import numpy as np
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from numba.core.registry import cpu_target
newer = [name for name in __cpu_dispatch__ if name.startswith(("X86_V4", "AVX512")) and __cpu_features__[name]]
print(newer, cpu_target.target_context.codegen().magic_tuple()[1:])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ('haswell', '')"
