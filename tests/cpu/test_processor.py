"""A processor without the instructions that kernels need is refused, by name, before anything is written."""

import platform

import pytest
from llvmlite.binding import get_host_cpu_features
from numba.core.registry import cpu_target

from ep.common import processors
from ep.common.native.target import _is_own
from ep.cpu.compile import target
from ep.cpu.machine import processor
from tests.subprocesses import run

OLD = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Core(TM) i7-3770 CPU @ 3.40GHz
flags\t\t: fpu sse sse2 avx{more}
"""

LAUNCH = """
import numpy as np
import ep
from ep.include.primitive import ElementwiseUnaryFactory

x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
relu = ep.RequirePrimitive(ElementwiseUnaryFactory, ep.DeviceType.kCPU, ep.UnaryOp.kRelu, x.dtype, y.dtype)
stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU).CreateStream()
try:
    relu.Launch(stream, x, y, 3)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
print(*y)
"""

ASKED = """
from pathlib import Path
from ep.common import processors
processors.INFORMATION = Path({path!r})

import ep
from ep.cli.main import main

cpu = ep.DeviceType.kCPU
manager = ep.DeviceManagerRegistry.GetDeviceManager(cpu)
assert manager.GetDeviceCount() == 0
try:
    manager.GetDevice(0)
except ep.DeviceUnavailableError as error:
    assert str(error) == f"there is no CPU device: {{manager.WhyUnavailable()}}"
assert main(["doctor"]) == 1
"""

on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="other processors have them all")


def test_this_one_is_fit():
    assert processor.why_unfit() is None


@on_x86
@pytest.mark.parametrize(
    ("more", "missing"),
    [("", "no FMA and no F16C"), (" f16c", "no FMA"), (" fma4 f16c", "no FMA"), (" fma", "no F16C")],
)
def test_an_older_machine(monkeypatch, tmp_path, more, missing):
    information = tmp_path / "cpuinfo"
    information.write_text(OLD.format(more=more))
    monkeypatch.setattr(processors, "INFORMATION", information)
    processor.why_unfit.cache_clear()
    try:
        why = processor.why_unfit()
    finally:
        processor.why_unfit.cache_clear()
    assert why == f"it needs {processor.NEEDED}; Intel(R) Core(TM) i7-3770 CPU @ 3.40GHz has {missing}"


@on_x86
def test_there_is_no_device_then(tmp_path):
    information = tmp_path / "cpuinfo"
    information.write_text(OLD.format(more=""))
    lines = [line.split() for line in run(ASKED.format(path=str(information))).splitlines()]
    (judged,) = (line for line in lines if line[:1] == ["processor"])
    assert judged[1] == "fail"
    assert "FMA" in judged


@on_x86
@pytest.mark.parametrize(
    ("name", "features", "given"),
    [
        ("ivybridge", "", "NUMBA_CPU_NAME is 'ivybridge' and NUMBA_CPU_FEATURES is ''"),
        ("x86-64-v3", "-fma", "NUMBA_CPU_NAME is 'x86-64-v3' and NUMBA_CPU_FEATURES is '-fma'"),
        ("x86-64-v3", "-f16c", "NUMBA_CPU_NAME is 'x86-64-v3' and NUMBA_CPU_FEATURES is '-f16c'"),
    ],
)
def test_a_target_of_kernels_that_lacks_them(name, features, given):
    """Without the check, LLVM would call slow functions, or end the process."""
    printed = run(LAUNCH, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features)
    assert printed.splitlines() == [f"EnvironmentVariableError: {given}; it must be {processor.NEEDED}", "0.0 0.0 0.0"]


@on_x86
@pytest.mark.parametrize(
    ("name", "features", "has"),
    [
        *((name, "", True) for name in ("haswell", "znver1", "znver5", "skylake-avx512", "x86-64-v3", "bdver2")),
        ("sapphirerapids", "", True),  # it has instructions for float16 arithmetic, too
        ("rocketlake", "+avx512fp16", True),
        *((name, "", False) for name in ("ivybridge", "bdver1", "x86-64", "x86-64-v2")),
        ("sapphirerapids", "-fma", False),
        ("haswell", "-f16c", False),
    ],
)
def test_the_instructions_of_a_processor(name, features, has):
    triple = cpu_target.target_context.codegen().magic_tuple()[0]
    assert target.has_instructions(triple, name, features) is has


@on_x86
def test_what_this_processor_reports_is_what_llvm_uses():
    triple, name, _ = cpu_target.target_context.codegen().magic_tuple()
    own = get_host_cpu_features()
    features = own.flatten()
    found = target.of_kernels()
    assert found.is_own
    for needed in ("fma", "f16c", "avx2"):
        assert found.has(needed) is own[needed]
    if found.has("fma", "f16c"):
        assert target.has_instructions(triple, name, features)
    for others in ("", f"{features},-avx", features.replace("+avx,", "-avx,"), "+fma,+f16c,+avx2"):
        assert not _is_own(others)


@pytest.mark.ep_long
@on_x86
def test_the_oldest_target(tmp_path):
    printed = run(LAUNCH, NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="", EP_CACHE_DIR=str(tmp_path))
    assert printed == "1.0 1.0 1.0\n"


KNOWN = {"znver2": True, "znver3": True, "znver4": True, "skylake-avx512": False, "icelake-server": False}
KNOWN |= {"sapphirerapids": False, "emeraldrapids": False, "graniterapids": False}


def test_the_data_paths_are_those_that_the_processor_has():
    from llvmlite.binding import get_host_cpu_name

    from ep.cpu.compile.target import moves_halves

    name = get_host_cpu_name()
    if name not in KNOWN:
        pytest.skip(f"nobody has said how wide the data paths of {name} are")
    assert moves_halves() == KNOWN[name]
