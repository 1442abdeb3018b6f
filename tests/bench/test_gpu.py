"""The benchmark on a GPU: its options, budget, plan, medians, report and file, with invented measurements."""

import dataclasses
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu import checks, options, report, sanitizer, suite
from benchmarks.gpu import document as files
from benchmarks.gpu.budget import Budget
from benchmarks.gpu.kinds import AT_COPY_SPEED, kind_of
from benchmarks.gpu.measure import compared
from benchmarks.gpu.peers import installed
from benchmarks.gpu.plan import MAIN_DTYPES, SIZES, planned
from benchmarks.gpu.rows import row_cases
from benchmarks.gpu.scale import GPU, SMALL
from benchmarks.gpu.timing import Sample, measured
from ep.bench.all_cases import SETS
from ep.bench.builders import DTYPES

MAIN = [(dtype, GPU.elements) for dtype in MAIN_DTYPES]
ROOT = Path(__file__).resolve().parents[2]


def result(ratio=1.2, share=0.95, size=2**26, kind="expand", **more):
    ours = 1e-3
    return {
        **{"set": "expand", "case": "last axis", "kind": kind, "group": "expand", "dtype": "float32", "size": size},
        **{"elements": size, "bytes": 8 * size, "seconds": {"ep": ours, "torch": (ratio or 0) * ours}},
        **{"quartiles": {"ep": [ours, ours], "torch": [ours, ours]}, "best_peer": "torch" if ratio else None},
        **{"ratio": ratio, "share_of_copy": share, "copy_gb_per_s": 4000.0, "wrong": {}, "launch_bound": []},
        **more,
    }


def made_up(*results, **more):
    return {
        **{"device": {"name": "NVIDIA H200"}, "driver": {"version": "580.1", "cuda": "13.0"}},
        **{"date": "2026-01-02T03:04:05+00:00", "versions": {}, "peers": {"torch": "2.11"}, "absent_peers": {}},
        **{
            "dry_run": False,
            "forms": [],
            "overhead": {},
            "graph": {},
            "left_out": {},
            "not_measured": [],
            "failed": [],
        },
        **{"results": list(results), **more},
    }


def verdicts(document):
    return {target.what.partition(":")[0]: target.met for target in report.targets(document)}


def test_options():
    given = options.parse(["times", "--minutes", "2.5", "--only", "gather", "--sizes", "2^10,2^28"])
    assert (given.part, given.minutes, given.only, given.sizes) == ("times", 2.5, ("gather",), (2**10, 2**28))
    assert not given.dry_run
    assert (options.FORMS, options.ROWS, *SETS) == options.SETS
    for wrong in (["--only", "startup"], ["--minutes", "0"], ["--minutes", "nan"], ["--peers", "jax"]):
        with pytest.raises(SystemExit):
            options.parse(["times", *wrong])
    for wrong in ([], ["all"]):
        with pytest.raises(SystemExit):
            options.parse(wrong)


def test_budget():
    now = [100.0]
    budget = Budget(60, lambda: now[0])
    assert (budget.elapsed(), budget.remaining(), budget.share(0.5)) == (0, 54, 30)
    now[0] += 40
    assert (budget.elapsed(), budget.remaining(), budget.share(0.5)) == (40, 14, 14)
    now[0] += 40
    assert (budget.remaining(), budget.share(0.5)) == (0, 0)
    assert Budget(600, lambda: 0.0).remaining() == 590


def test_plan_has_every_core_case_once_and_the_main_dtypes_first():
    plan = list(planned(options.SETS))
    keys = [(entry.set, entry.dtype, entry.size, entry.case.name) for entry in plan]
    assert len(set(keys)) == len(keys)
    core = {
        (name, dtype.name, size, case.name)
        for name in SETS
        for dtype in DTYPES
        for size in SIZES
        for case in SETS[name](size, dtype)
        if case.core
    }
    assert core < set(keys)
    first = [entry for entry in plan if entry.set != "rows"][: sum((dtype, size) in MAIN for _, dtype, size, _ in core)]
    assert {(entry.dtype, entry.size) for entry in first} == set(MAIN)
    places = [place for place, entry in enumerate(plan) if entry.set == "rows"]
    assert places == list(range(len(first), len(first) + 48))
    assert {size for _, _, size, _ in keys} == set(SIZES)
    briefly = list(planned(options.SETS, scale=SMALL, briefly=True))
    assert [entry.set for entry in briefly].count("rows") == 48
    assert {(entry.dtype, entry.size) for entry in briefly} == {(dtype, SMALL.elements) for dtype in MAIN_DTYPES}


def test_plan_of_given_sizes_has_all_their_cases():
    plan = list(planned(["unary"], ["float16"], [64, 100], "^exp"))
    assert [(entry.size, entry.case.name) for entry in plan] == [
        (size, name) for size in (64, 100) for name in ("exp", "exp2", "expm1")
    ]
    every = list(planned(["gather"], ["int8"], [2**12]))
    assert len(every) == len(list(SETS["gather"](2**12, np.dtype(np.int8))))


def test_kinds():
    found = {kind_of(case) for name in SETS for dtype in DTYPES for case in SETS[name](2**16, dtype)}
    found |= {kind_of(case) for case in row_cases(SMALL, np.dtype(np.float32))}
    assert set(AT_COPY_SPEED) < found
    by_name = {case.name: kind_of(case) for case in SETS["gather"](2**16, np.dtype(np.float16))}
    assert by_name["rows of 256 B"] == "gather, rows below 512 B"
    assert by_name["rows of 1024 B"] == "gather, rows from 512 B"
    binary = {case.name: kind_of(case) for case in SETS["binary"](2**16, np.dtype(np.float16))}
    assert (binary["add, row"], binary["pow, row"]) == ("binary, row", "binary, transcendental")
    assert binary["add, channel bias"] == "binary, other broadcasts"
    casts = {case.name: kind_of(case) for case in SETS["cast"](2**16, np.dtype(np.float16))}
    assert (casts["cast to int8"], casts["cast a transpose to float32"]) == ("cast", "cast, transposed")
    choices = {case.name: kind_of(case) for case in SETS["where"](2**16, np.dtype(np.float16))}
    assert (choices["where, one shape"], choices["where of rows"]) == ("where, one shape", "where, broadcasts")


def test_work_without_a_kind_is_refused():
    case = dataclasses.replace(next(iter(SETS["fill"](2**10, np.dtype(np.int8)))), work=object())
    with pytest.raises(TypeError, match=r"^object has no kind \(case 'fill'\)$"):
        kind_of(case)


@pytest.mark.parametrize("count", [1, 2**22, 2**22 + 1, 2**28, 10**8 + 7])
def test_what_is_compared(count):
    pieces = compared(count)
    assert (pieces[0].start, pieces[-1].stop) == (0, count)
    assert sum(piece.stop - piece.start for piece in pieces) == min(count, 2**22)
    assert all(0 <= piece.start < piece.stop <= count for piece in pieces)


def test_a_launch_bound_case_is_told():
    samples = [Sample(device, 5.0, ahead) for device, ahead in ((3.0, True), (4.0, False), (5.0, False), (6.0, False))]
    found = measured(samples, 7)
    assert (found.device.median, found.host_seconds, found.launches, found.launch_bound) == (4.5, 5.0, 7, True)
    assert not measured([Sample(50.0, 5.0, False)] * 4, 3).launch_bound  # the kernel hides the launch
    assert not measured([Sample(3.0, 5.0, True)] * 4, 3).launch_bound  # the stream was kept busy


def test_grid():
    results = [result(2.0), result(0.5), result(3.0, size=2**10, launch_bound=["ep"]), result(None, dtype="int8")]
    columns, rows = report.grid(results, "ratio")
    assert columns == ["dtype", "kind", "2^10", "2^26"]
    assert rows == [["float32", "expand", "3.00*", "1.00"]]
    assert report.grid([], "ratio") == (["dtype", "kind"], [])


def test_what_is_behind():
    results = [result(0.9), result(0.5), result(0.5, size=2**18), result(0.95), result(None)]
    assert [r["ratio"] for r in report.behind(results)] == [0.5, 0.9]
    shares = [result(share=0.8), result(share=0.7), result(share=0.1, size=2**25), result(share=0.1, kind="other")]
    assert [r["share_of_copy"] for r in report.below_copy(shares)] == [0.7, 0.8]


def test_targets():
    empty = verdicts(made_up())
    assert set(empty.values()) == {None}
    overhead = {"relu": {"ep, CudaBuffer": 4.0, "ep, torch array": 5.5, "torch": 9.0}, "add": {"ep, CudaBuffer": 4.5}}
    graph = {"host_us_per_launch": 0.1, "device_us_per_launch": 1.5, "replay_computes": True}
    document = made_up(result(1.0), result(1.3), result(0.5, 0.5, 2**18), overhead=overhead, graph=graph)
    found = verdicts(document)
    assert found["every case 0.95 of the best peer from 2^20 elements on"] is True
    assert found["geometric mean of these ratios 1.1"] is (math.sqrt(1.3) >= 1.1)
    assert found["a launch from Python, CudaBuffer"] is True
    assert found["a launch from Python, torch array"] is False
    assert found["launches are captured in a graph and replayed"] is True


def test_verdicts_by_dtype():
    half = {"dtype": "bfloat16"}
    columns, rows = report.verdicts([result(1.5, 0.89), result(1.5, 0.95, **half), result(1.0, 0.1, 2**20)])
    assert columns == ["kind", "float32", "bfloat16"]
    assert ["expand", "0.89 MISSED", "0.95 met"] in rows
    assert ["binary, row", "not measured", "not measured"] in rows
    assert [row[0] for row in rows] == list(AT_COPY_SPEED)


def test_forms_by_case(capsys):
    shares = {"resident, cached": 0.91, "one pass, cached": 0.95}
    forms = [result(share=shares), result(share={}, wrong={"ep": "differs from NumPy"})]
    columns, rows = report.form_rows(forms)
    assert columns == ["dtype", "case", *shares, "fastest"]
    assert rows == [
        ["float32", "last axis", "0.91", "0.95", "one pass, cached"],
        ["float32", "last axis", "", "", ""],
    ]
    report.show(made_up(forms=forms))
    assert "WRONG expand last axis, float32, 2^26: differs from NumPy" in capsys.readouterr().out


def test_a_dry_run_reports_no_time(capsys):
    report.show_dry(made_up(result(), result(), dry_run=True, left_out={"this": "that"}))
    printed = capsys.readouterr().out
    assert "dry run, without a GPU: no time is reported; 2 cases ran" in printed
    assert "this: that" in printed
    assert "1000.0 us" not in printed


def test_report(capsys):
    entry = {"set": "unary", "dtype": "float64", "size": 2**10, "cases": 12, "why": "no time was left"}
    wrong = result(size=2**20, wrong={"cupy": "TypeError: no bfloat16"})
    document = made_up(
        result(0.5, 0.5),
        wrong,
        not_measured=[entry, entry | {"size": 2**20}],
        absent_peers={"cupy": "broken"},
    )
    report.show(document, table=True)
    lines = capsys.readouterr().out.splitlines()
    assert "NVIDIA H200, driver 580.1, CUDA 13.0, torch 2.11, 2026-01-02T03:04:05+00:00" in lines
    assert "   0.50  expand last axis, float32, 2^26: 1000.0 us, torch 500.0" in lines
    assert "   0.50  expand last axis, float32, 2^26: 537 GB/s of 4000" in lines
    assert "  24 cases, float64, 2^10, 2^20: no time was left" in lines
    assert "  cupy: broken" in lines
    assert "  1 with cupy, float32, as expand last axis, float32, 2^20: TypeError: no bfloat16" in lines
    assert "wrong results of ep: 0" in lines
    assert any(line.split() == ["expand", "0.50", "MISSED"] for line in lines)


def test_file(tmp_path):
    document = made_up(result(1.23456789), result(2.0))
    path = tmp_path / "results" / "gpu.json"
    files.write(path, document)
    read = json.loads(path.read_text())
    assert [entry["ratio"] for entry in read["results"]] == [1.235, 2.0]
    assert {name: value for name, value in read.items() if name != "results"} == {
        name: value for name, value in document.items() if name != "results"
    }
    files.write(path, made_up())
    assert json.loads(path.read_text())["results"] == []
    assert os.listdir(path.parent) == ["gpu.json"]
    assert files.default_path(document) == ROOT / "benchmarks" / "results" / "gpu-nvidia-h200-2026-01-02.json"


def test_the_suite_is_run_and_ended(monkeypatch):
    monkeypatch.setattr(suite, "_GRACE", 600.0)
    done = suite.run(600, [sys.executable, "-c", "print('a'); raise SystemExit(3)"])
    assert (done["exit_code"], done["failed"], done["last_lines"]) == (3, True, ["a"])
    done = suite.run(600, [sys.executable, "-c", "print('2 passed')"])
    assert (done["exit_code"], done["failed"]) == (0, False)
    begun = (
        "import time; print('begun', flush=True)\ntry: time.sleep(3600)\nexcept KeyboardInterrupt: print('1 failed')"
    )
    for seconds in (2, 20, 200):  # longer until the process has begun by then
        done = suite.run(seconds, [sys.executable, "-c", begun])
        if "begun" in done["last_lines"]:
            break
    assert done["exit_code"] is None
    assert done["last_lines"] == ["begun", "1 failed"]
    assert done["failed"]
    assert done["seconds"] < 3600


def test_the_suite_has_all_tests_and_those_of_the_device_first():
    python, *arguments = suite.command()
    paths = [argument for argument in arguments if argument.startswith(("tests/", "ep/"))]
    assert (python, arguments[:2]) == (sys.executable, ["-m", "pytest"])
    assert paths[:4] == ["tests/cuda", "ep/testing/device_layer", "ep/testing/primitive", "tests/ops"]
    assert len(set(paths)) == len(paths)
    found = {path for entry in paths for path in [ROOT / entry, *(ROOT / entry).rglob("test_*.py")]}
    assert {*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "ep" / "testing").rglob("test_*.py")} <= found
    assert arguments[2 + len(paths) :][:3] == ["--ep-device", "cuda", "-q"]


SANITIZER = """#!{python}
import sys
print("=" * 9, "ERROR SUMMARY: {errors} errors")
print("=" * 9, *sys.argv[1:], file=sys.stderr)
raise SystemExit({code})
"""


@pytest.mark.parametrize("errors", [0, 3])
def test_the_sanitizer_is_run(monkeypatch, tmp_path, errors):
    program = tmp_path / "compute-sanitizer"
    program.write_text(SANITIZER.format(python=sys.executable, errors=errors, code=99 if errors else 0))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    word = "FAILED" if errors else "passed"
    assert sanitizer.run(600) == dict.fromkeys(sanitizer.TOOLS, f"{word}: ERROR SUMMARY: {errors} errors")
    assert sanitizer.run(0) == dict.fromkeys(sanitizer.TOOLS, "not run: no time was left")
    done = {"failed": False, "exit_code": 0, "seconds": 1.0, "last_lines": ["3 passed"]}
    monkeypatch.setattr(suite, "run", lambda limit: done)
    assert checks.run(Budget(600), dry_run=False) == (errors == 0)


def test_without_the_sanitizer_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert set(sanitizer.run(600).values()) == {"not run: compute-sanitizer is not on the path"}


def test_the_sanitizer_watches_twenty_kernels():
    assert len({case.name for case in sanitizer.cases()}) == 20


def test_peers_that_do_not_work_are_listed(monkeypatch):
    monkeypatch.setattr("benchmarks.gpu.peers._ADAPTERS", {"torch": "no_such_module", "ep_no_such_library": "x"})
    monkeypatch.setattr("benchmarks.gpu.peers.find_spec", lambda name: True if name == "torch" else None)
    peers, absent = installed(["torch", "ep_no_such_library"], None)
    assert peers == []
    assert "no_such_module" in absent["torch"]
    assert absent["ep_no_such_library"] == "not installed"
    assert installed([], None)[1]["torch"] == "not asked for"


def test_without_a_gpu_it_says_so():
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-m", "benchmarks.gpu", "times", "--minutes", "1"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no CUDA device" in done.stderr
