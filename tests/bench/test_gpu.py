"""The two commands for a GPU, rehearsed in part on the driver that does nothing, with its faults."""

import dataclasses
import json
import signal
import subprocess
import sys
import tarfile

import pytest

from benchmarks.gpu import plan
from tests.cuda.stub import needs_stub
from tests.subprocesses import SOURCES, environment_of

pytestmark = [*needs_stub, pytest.mark.ep_long]

TWENTY = next(stage for stage in plan.COMMANDS["first"] if stage.name == "twenty").cases
FEW = r"^twenty: .*(alternating axes|middle axis|last axis of 3)/float32"
PATIENCE = """
import sys
from dataclasses import replace
from benchmarks.gpu import __main__, run
def patient(stage):
    return replace(stage, **{"seconds": 900.0, **MORE.get(stage.name, {})})
run.COMMANDS = {name: tuple(map(patient, stages)) for name, stages in run.COMMANDS.items()}
sys.exit(__main__.main())
"""
"""Runs the command with other stages, which have time on a busy machine, too."""


def begin(*arguments, more=None, **environment):
    """Start the command; its output is a pipe."""
    code = ["-m", "benchmarks.gpu"] if more is None else ["-c", PATIENCE.replace("MORE", repr(more))]
    return subprocess.Popen(
        [sys.executable, *code, *map(str, arguments)],
        env=environment_of((), environment),
        cwd=SOURCES,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end(process, code):
    """Wait for a command, and return what it printed."""
    printed = process.communicate()[0]
    assert process.returncode == code, printed
    return printed


def first(folder, only, *, code=0, command="first", **environment):
    """Rehearse cases; return the lines of the results between the first and the last, and the last."""
    printed = end(begin(command, folder, "--rehearse", "--only", only, more={}, **environment), code)
    return lines_of(folder, printed, command)


def lines_of(folder, printed="", command="first"):
    head, *lines, last = map(json.loads, (folder / f"{command}.jsonl").read_text().splitlines())
    assert list(head)[:5] == ["command", "date", "device", "driver", "versions"], printed
    assert head["versions"]["numba-cuda"]
    return lines, last


def cases_in(lines):
    return {line["case"]: line.get("error") for line in lines if "case" in line}


def chosen(pattern="alternating axes|middle axis|last axis of 3"):
    return [name for name in TWENTY if any(part in name for part in pattern.split("|")) and name.endswith("float32")]


def test_what_was_compiled_is_all_that_a_command_launches(tmp_path):
    """`compile` takes the cases of the plan: the rehearsal that follows compiles nothing."""
    only = r"^(proof|twenty: segment|graph|host: unary/relu|five: expand/last axis of 3|pass.*row)"
    cache, folder = {"EP_CACHE_DIR": str(tmp_path / "kernels")}, tmp_path / "results"
    printed = end(begin("compile", "--only", only, **cache), 0)
    assert "compiled: 0" not in printed
    for command in ("first", "second"):
        lines, last = first(folder, only, command=command, **cache)
        assert (last["failed"], last["compiled"], last["not_reached"]) == (0, 0, {})
        stages = [stage for stage in plan.COMMANDS[command] if any(line["stage"] == stage.name for line in lines)]
        assert list(dict.fromkeys(line["stage"] for line in lines)) == [stage.name for stage in stages]
        assert last["ran"] == sum("case" in line for line in lines) > 0
    assert sorted(path.name for path in folder.iterdir()) == [
        *("first-errors.txt", "first.jsonl", "second-errors.txt", "second.jsonl")
    ]
    assert "_us" not in (folder / "second.jsonl").read_text()  # no time of a device that computes nothing


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("REFUSE", [None, "cuLaunchKernel", "cuLaunchKernel"]),
        ("FAULT", [None, "CUDA_ERROR_ILLEGAL_ADDRESS", None]),
        ("HANG", [None, "no result in 25 s", None]),
        ("DIE", [None, "exit code -6", None]),
    ],
)
def test_a_fault_is_a_line_and_costs_no_other_case(tmp_path, fault, words):
    """If the device is lost, or a process hangs or dies, another process takes the cases that follow."""
    more = {"twenty": {"patience": 25.0 if fault == "HANG" else 900.0}}
    process = begin("first", tmp_path, "--rehearse", "--only", FEW, more=more, **{f"STUB_{fault}": "2"})
    lines, last = lines_of(tmp_path, end(process, 1))
    found = cases_in(lines)
    assert list(found) == chosen()
    for error, word in zip(found.values(), words, strict=True):
        assert error is None if word is None else word in error
    failed = sum(word is not None for word in words)
    assert (last["ran"], last["failed"], last["not_reached"]) == (3 - failed, failed, {})
    if fault == "FAULT":
        assert [line["case"] for line in lines if line.get("lost")] == chosen()[1:2]
        assert sum("worker" in line for line in lines) == 2


def test_a_stage_ends_at_its_time_and_the_next_one_begins(tmp_path):
    only = rf"{FEW}|^copy"
    short = {"machine": {"seconds": 0}, "proof": {"seconds": 0}, "twenty": {"seconds": 6}, "copy": {"seconds": 300}}
    process = begin("first", tmp_path, "--rehearse", "--only", only, more=short, STUB_HANG="1")
    lines, last = lines_of(tmp_path, end(process, 0))
    assert list(cases_in(lines)) == ["1 GiB"]
    assert last["not_reached"] == {"twenty": chosen()}
    assert last["stopped"] == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_command_says_what_it_did_not_reach(tmp_path, number):
    process = begin("first", tmp_path, "--rehearse", "--only", f"^proof|{FEW}", STUB_HANG="1")
    while "worker" not in process.stdout.readline():
        pass
    process.send_signal(number)
    process.send_signal(number)  # as `timeout` does
    _, last = lines_of(tmp_path, end(process, 1))
    assert (last["stopped"], last["ran"]) == (number.name, 0)
    assert last["not_reached"] == {"proof": ["unary/relu/float32"], "twenty": chosen()}


def test_nothing_run_is_no_success(tmp_path):
    assert first(tmp_path, "no such case", code=1)[1]["ran"] == 0
    only = "machine: python -m pip list"
    assert first(tmp_path / "machine", only, code=1)[1]["ran"] == 0
    assert "numba-cuda" in (tmp_path / "machine" / "first-machine.txt").read_text()


def test_without_a_gpu_it_says_so(tmp_path):
    end(begin("first", tmp_path, "--only", "^proof", CUDA_VISIBLE_DEVICES="-1"), 1)
    lines, last = lines_of(tmp_path)
    assert "no process began to work: exit code 1; " in lines[0]["error"]
    assert "there is no CUDA device" in lines[0]["error"]
    assert last["not_reached"] == {"proof": ["unary/relu/float32"]}


def test_packages_are_unpacked_and_used(tmp_path):
    for turn, version in enumerate(("9.9", "9.9", "9.10")):  # the second run finds them unpacked, the third one others
        packed = tmp_path / f"torch-{version}.dist-info"
        if not packed.exists():
            packed.mkdir()
            (packed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
            with tarfile.open(tmp_path / "site.tar.xz", "w:xz") as archive:
                archive.add(packed, packed.name)
        arguments = ["--rehearse", "--site", tmp_path / "site.tar.xz", "--only", "pip list"]
        folder = tmp_path / str(turn)
        end(begin("first", folder, *arguments), 1)
        assert json.loads((folder / "first.jsonl").read_text().splitlines()[0])["versions"]["torch"] == version
        assert "torch" in (folder / "first-machine.txt").read_text()
    for name, content in (("broken", b"no archive"), ("absent", None)):
        if content:
            (tmp_path / name).write_bytes(content)
        before = {*tmp_path.iterdir()}
        end(begin("first", tmp_path / "none", "--site", tmp_path / name), 1)
        assert {*tmp_path.iterdir()} == before


def test_results_of_an_ended_run_are_kept(tmp_path):
    """The last line may not be whole."""
    (tmp_path / "first.jsonl").write_text('{"stage": "proo')
    first_line, *lines = end_of_file(tmp_path, "no such case")
    assert first_line == '{"stage": "proo'
    assert json.loads(lines[0])["command"] == "first"


def end_of_file(folder, only):
    end(begin("first", folder, "--rehearse", "--only", only), 1)
    return (folder / "first.jsonl").read_text().splitlines()


def test_a_process_that_hangs_at_its_start_ends_its_stage(tmp_path):
    code = f"from benchmarks.gpu import run\nrun._START = 2.0\n{PATIENCE.replace('MORE', '{}')}"
    command = [sys.executable, "-c", code, "first", tmp_path, "--rehearse", "--only", "^proof|^copy"]
    environment = environment_of((), {"STUB_HANG": "0"})
    done = subprocess.run(command, env=environment, cwd=SOURCES, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    lines, last = lines_of(tmp_path)
    assert ["no process began to work: no result in 2 s" in line["error"] for line in lines if "error" in line] == [
        True
    ] * 2
    assert last["not_reached"] == {"proof": ["unary/relu/float32"], "copy": ["1 GiB"]}


SANITIZER = """#!{python}
import subprocess, sys
if {refuses}:
    print("========= Error: Device not supported")
    raise SystemExit(1)
subprocess.run(sys.argv[sys.argv.index("99") + 1 :], check=True)
print("=" * 9, "{summary}")
raise SystemExit({code})
"""


@pytest.mark.parametrize(
    ("refuses", "summary", "code"),
    [
        (False, "ERROR SUMMARY: 0 errors", 0),
        (False, "ERROR SUMMARY: 3 errors", 99),
        (False, "RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)", 99),
        (False, "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", 0),
        (True, "", 0),
    ],
)
def test_the_sanitizer(tmp_path, monkeypatch, refuses, summary, code):
    program = tmp_path / "compute-sanitizer"
    program.write_text(SANITIZER.format(python=sys.executable, refuses=refuses, summary=summary, code=code))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    lines, last = first(tmp_path, "^memcheck: unary", command="second", code=int(bool(code) or refuses))
    if refuses:
        assert "Device not supported" in lines[0]["not_run"]
        assert (last["failed"], last["ran"]) == (0, 0)
    else:
        verdict = [line for line in lines if {"summary", "error"} & set(line)]
        assert verdict == [{"stage": "memcheck", "error" if code else "summary": summary}]
        assert summary in (tmp_path / "second-memcheck.txt").read_text()
        assert cases_in(lines) == {"unary/relu/float32": None}


def test_without_the_sanitizer_it_says_so(tmp_path):
    lines, last = first(tmp_path, "^(mem|race)check", command="second", code=1, PATH="/usr/bin:/bin")
    why = "compute-sanitizer is not on the path"
    assert [line["not_run"] for line in lines if "not_run" in line] == [why, why]
    assert (last["ran"], last["failed"], [*last["not_reached"]]) == (0, 0, ["memcheck", "racecheck"])


def test_the_tests_of_the_device(tmp_path):
    lines, last = first(tmp_path, "^tests: tests/cuda/test_buffers.py")
    (found,) = [line for line in lines if line.get("case") == "pytest"]
    assert found["passed"] > 10
    assert (last["ran"], last["failed"], last["not_reached"]) == (1, 0, {})
    assert "PASSED tests/cuda/test_buffers.py::" in (tmp_path / "first-tests.txt").read_text()


def test_the_time_of_the_commands():
    for command, seconds in (("first", 480), ("second", 240)):
        assert sum(stage.seconds for stage in plan.COMMANDS[command]) <= seconds
    names = [stage.name for stages in plan.COMMANDS.values() for stage in stages]
    assert len(set(names)) == len(names)
    assert len(TWENTY) == 19  # and the first one, which is the proof of life
    assert all(dataclasses.is_dataclass(stage) for stage in plan.COMMANDS["first"])


def test_the_parent_imports_neither_numpy_nor_the_package():
    code = "import sys, benchmarks.gpu.__main__; print({'numpy', 'numba', 'cuda', 'ep'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=SOURCES, capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
