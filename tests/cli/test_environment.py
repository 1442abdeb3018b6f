"""The environment variables: one table lists them, one place checks them, and an error is one line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ep
from ep.common import environment
from ep.include import EnvironmentVariableError

EP = (sys.executable, "-W", "error", "-m", "ep")
RUN = ("run", "relu", "--x", "x.npy", "--out", "y.npy")

WRONG = [
    *(("EP_CPU_NUM_THREADS", text) for text in ("abc", "1_0", " 4", "\u0663", "+4", "-1", "0", "1025", "9" * 5000)),
    *(("EP_COMPILE_PROCESSES", text) for text in ("none", "-1", "1025")),
    *(("EP_CACHE_DIR", text) for text in ("cache", "~/cache", ".")),
    *(("XDG_CACHE_HOME", text) for text in ("cache",)),
    *(("EP_CUDA_GRID", text) for text in ("all", "passes")),
    *(("EP_CUDA_STORES", text) for text in ("cs", "no")),
    *(("NUMBA_ENABLE_CUDASIM", text) for text in ("yes", "1_0", "-1")),
    *(("NUMBA_DISABLE_JIT", text) for text in ("1", "yes")),
    *(("NUMBA_CPU_NAME", text) for text in ("", " ", "a b")),
    *(("NUMBA_CPU_FEATURES", text) for text in ("avx2", "+avx2,", "+avx2 -sse")),
]
BY_NAME = {variable.name: variable for variable in environment.VARIABLES}


@pytest.mark.parametrize(("name", "text"), [pair for pair in WRONG if pair[1]], ids=lambda value: repr(value[:9]))
def test_what_is_not_valid(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(EnvironmentVariableError) as raised:
        BY_NAME[name].value()
    assert str(raised.value) == f"{name} is {text!r}; it must be {BY_NAME[name].valid}"
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("EP_CPU_NUM_THREADS", "", None),
        ("EP_CPU_NUM_THREADS", "1", 1),
        ("EP_CPU_NUM_THREADS", "007", 7),
        ("EP_CPU_NUM_THREADS", "1024", 1024),
        ("EP_COMPILE_PROCESSES", "0", 0),
        ("EP_COMPILE_PROCESSES", "2", 2),
        ("EP_CACHE_DIR", "", None),
        ("EP_CACHE_DIR", "/a/b", Path("/a/b")),
        ("CUDA_VISIBLE_DEVICES", "", ""),
        ("CUDA_VISIBLE_DEVICES", "GPU-1", "GPU-1"),
        ("NUMBA_ENABLE_CUDASIM", "", False),
        ("NUMBA_ENABLE_CUDASIM", "0", False),
        ("NUMBA_ENABLE_CUDASIM", "1", True),
        ("NUMBA_DISABLE_JIT", "0", False),
        ("NUMBA_CPU_NAME", "x86-64-v3", "x86-64-v3"),
        ("NUMBA_CPU_FEATURES", "+avx2,-avx512f", "+avx2,-avx512f"),
        ("NUMBA_CPU_FEATURES", "", ""),
    ],
)
def test_what_is_valid(monkeypatch, name, text, value):
    monkeypatch.setenv(name, text)
    assert BY_NAME[name].value() == value


def test_the_table_is_the_one_place():
    """No other module of the package reads the environment, except for the variables of a shell for the command
    line."""
    folder = Path(ep.__file__).parent
    looking = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(r"\benviron\b|\bgetenv\b", path.read_text())
    }
    assert looking == {"common/environment.py", "cli/main.py", "cli/completion.py"}


def command(folder, *arguments, **variables):
    """Return the output of a new process, and its exit code."""
    np.save(folder / "x.npy", np.ones(3, np.float32))
    environment = {**os.environ, **variables}
    return subprocess.run([*EP, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "name", "text"),
    [
        (("demo",), "EP_CPU_NUM_THREADS", "abc"),
        (("bench",), "NUMBA_DISABLE_JIT", "1"),
        (RUN, "EP_CPU_NUM_THREADS", "10000"),
        (("cache", "warm", "--op", "relu"), "NUMBA_DISABLE_JIT", "1"),
    ],
)
def test_nothing_run_is_a_failure(tmp_path, arguments, name, text):
    done = command(tmp_path, *arguments, **{name: text})
    assert done.returncode == 1
    prog = " ".join(["ep", *arguments[: {"run": 2, "cache": 2}.get(arguments[0], 1)]])
    assert done.stderr == f"{prog}: error: {name} is {text!r}; it must be {BY_NAME[name].valid}\n"
    assert "agree" not in done.stdout
    assert not (tmp_path / "y.npy").exists()


def test_features_that_would_end_the_process(tmp_path):
    done = command(tmp_path, *RUN, NUMBA_CPU_FEATURES="avx2")
    assert done.returncode == 1
    assert done.stderr.startswith("ep run relu: error: NUMBA_CPU_FEATURES is 'avx2'; it must be ")


def test_doctor_lists_them(ep, monkeypatch):
    monkeypatch.setattr("ep.cli.doctor._devices", lambda wanted: iter(()))
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setenv("EP_CPU_NUM_THREADS", "3")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "yes")
    done = ep("doctor")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in done.out.splitlines() if line}
    assert {variable.name for variable in environment.VARIABLES} <= set(rows)
    assert rows["EP_CPU_NUM_THREADS"].startswith("pass set to '3': threads that a launch on the CPU uses")
    assert rows["NUMBA_CPU_NAME"] == "not set"
    assert rows["NUMBA_DISABLE_JIT"].startswith("fail NUMBA_DISABLE_JIT is 'yes'; it must be ")
    assert done.code == 1
    assert done.out.endswith("\nThese fail: NUMBA_DISABLE_JIT.\n")
