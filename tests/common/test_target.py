"""The target of compiled code, as Numba has it and as it is kept on disk."""

import json
import platform
import shutil

import pytest

from ep.common import processors
from ep.common.native import target
from tests.kernel_folders import LAUNCH
from tests.subprocesses import run

SAYS = """
import sys
from ep.common.native.target import target
from ep.cpu.machine.kernel_cache import CACHE
found = target(CACHE)
print("numba" in sys.modules)
print(*found, sep="\\n")
"""


def test_what_is_kept_is_what_numba_says(tmp_path):
    first, second = (run(SAYS, EP_CACHE_DIR=str(tmp_path)).splitlines() for _ in range(2))
    asked = target._asked()
    assert first[1:] == second[1:] == [str(value) for value in asked]
    assert first[0] == "True"
    assert second[0] == str(processors.description() is None)


@pytest.mark.parametrize("how", ["del module.__cpu_features__", "module.__cpu_features__ = None"])
def test_a_numpy_that_does_not_tell_features(tmp_path, how):
    """Numba is asked, and nothing is kept for a processor that is not described."""
    without = f"import numpy._core._multiarray_umath as module\n{how}\n{SAYS}"
    for _ in range(2):
        asked, *found = run(without, EP_CACHE_DIR=str(tmp_path)).splitlines()
        assert asked == "True"
        assert found == [str(value) for value in target._asked()]
    assert not [*tmp_path.rglob("*.target")]


@pytest.mark.parametrize("variable", ["NUMBA_OPT", "NUMBA_ENABLE_PROFILING", "VS_PROFILER"])
def test_a_configured_numba_is_asked(tmp_path, variable):
    settings = {"EP_CACHE_DIR": str(tmp_path), variable: "1"}
    (_, *asked), (loaded, *found) = (run(SAYS, **settings).splitlines() for _ in range(2))
    assert loaded == "True"
    assert found == asked != [str(value) for value in target._asked()]
    _, *found = run(SAYS, EP_CACHE_DIR=str(tmp_path)).splitlines()  # what it says is not kept for others
    assert found == [str(value) for value in target._asked()]


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 10**5,
        json.dumps(target._asked()._asdict() | {"features": 3}).encode(),
        json.dumps(target._asked()._asdict() | {"more": 3}).encode(),
        json.dumps(target._asked()._asdict() | {"is_own": 1}).encode(),
    ],
)
def test_what_is_no_target(contents):
    assert target._unpacked(contents) is None


def test_what_is_one():
    asked = target._asked()
    assert target._unpacked(json.dumps(asked._asdict()).encode()) == asked


def test_processors_that_differ_have_targets_of_their_own(tmp_path, monkeypatch):
    information = tmp_path / "cpuinfo"
    monkeypatch.setattr(processors, "INFORMATION", information)
    assert processors.description() is None
    information.write_text("processor: 0\nmodel: 2\ncpu MHz: 2500\nflags: fma f16c\n\nprocessor: 1\nmodel: 3\n")
    first = processors.description()
    assert first == "model: 2\nflags: fma f16c"
    information.write_text("processor: 0\nmodel: 2\ncpu MHz: 2700\nflags: fma f16c avx512f\n\n")
    assert processors.description() not in (None, first)
    information.write_text("processor: 0\nmodel: 2\n")
    assert processors.description() is None


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names a processor of x86-64")
def test_a_processor_that_is_named_too_late(launched, tmp_path):
    """Kernels are written for the target that was found first; Numba would compile them for another one."""
    folder = shutil.copytree(launched, tmp_path / "cache")
    run(LAUNCH, EP_CACHE_DIR=str(folder))
    code = f"""
import os
import ep.cpu.engine.entry
os.environ["NUMBA_CPU_NAME"] = "x86-64-v3"
try:
    exec({LAUNCH.replace("kRelu", "kTanh")!r})
except ep.EnvironmentVariableError as error:
    print(error)
"""
    printed = run(code, EP_CACHE_DIR=str(folder))
    assert printed.startswith("Numba compiles for x86-64-v3, but kernels of this process are for ")


def test_a_launch_of_kernels_on_disk_imports_no_compiler_and_no_other_functions(launched):
    code = f"""{LAUNCH}
print(sorted({{'numba', 'llvmlite.binding'}} & {{*sys.modules}}))
print([name for name in sys.modules if name.endswith(("exponential", "coefficients"))])
"""
    printed = run(code, EP_CACHE_DIR=str(launched)).splitlines()
    assert printed.pop() == "['ep.common.functor.coefficients']"
    assert printed == ["[0.0, 0.0, 2.0] 0 6", "[]" if processors.description() else "['llvmlite.binding', 'numba']"]
