"""Kernels that are compiled without a device, for a machine that has a driver: `ep cache warm --capability`."""

import subprocess
import sys

import pytest

from tests.cuda.stub import needs_stub
from tests.subprocesses import SOURCES, environment_of, run

pytestmark = needs_stub

PREPARE = """
from ep import DeviceType, RequirePrimitive
from ep.include.primitive import FillFactory, MatmulFactory
from ep.cuda.compile.compiler import statistics
RequirePrimitive(FillFactory, DeviceType.kCUDA, "float32").Prepare()
print(statistics.compiled, statistics.loaded)
"""


def warm(cache, *options):
    """Return the exit code of the command, and its output."""
    command = [sys.executable, "-P", "-m", "ep", "cache", "warm", "--jobs", "1", *options]
    environment = environment_of((), {"EP_CACHE_DIR": str(cache)})
    done = subprocess.run(command, env=environment, cwd=SOURCES, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def kept(cache):
    """Return the files with what was compiled for CUDA."""
    return sorted(file for file in cache.glob("cuda-*/**/*") if file.is_file())


def test_a_process_with_a_device_compiles_nothing(python, tmp_path):
    of_fill = ["--primitive", "Fill", "--dtype", "float32"]
    code, out, _ = warm(tmp_path, *of_fill, "--capability", "9.0")
    assert code == 0
    assert "cuda: 2 new kernels," in out  # the kernel, and the host code that launches it
    before = kept(tmp_path)
    assert python("-c", PREPARE, EP_CACHE_DIR=str(tmp_path)) == ["0 1"]
    assert kept(tmp_path) == before


def test_products_that_have_nothing_to_compile(tmp_path):
    """cuBLASLt has those of floating types; those of integers are ep's own, one for the types of a size."""
    for dtype, kernels in (("float32", 0), ("int8", 1)):
        given = "--primitive", "Matmul", "--dtype", dtype, "--device", "cuda", "--capability", "9.0"
        code, out, _ = warm(tmp_path, *given)
        assert code == 0
        assert f"cuda: {kernels} new kernel" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--capability", "nine"], "capability is 'nine'; it must be a compute capability, such as 9.0"),
        (["--capability", "7.5"], "capability is 7.5; kernels need 8.0 or a newer one"),
        (["--capability", "9.0", "--device", "cpu"], "capability is '9.0'; kernels for cpu are compiled where it is"),
        (["--capability", "9.0", "--device", "cpu", "--device", "cuda"], "--capability is for one device type"),
    ],
)
def test_what_cannot_be_compiled_for(options, said, tmp_path):
    code, _, error = warm(tmp_path, *options)
    assert code == 2
    assert said in error
    assert not any(tmp_path.iterdir())


def test_nothing_runs_on_an_absent_device(tmp_path):
    code = """
from ep import DeviceManagerRegistry, DeviceType
manager = DeviceManagerRegistry.GetDeviceManager(DeviceType.kCUDA)
manager.compile_for("9.0")
try:
    manager.GetDevice(0).CreateStream()
except Exception as error:
    print(type(error).__name__, error)
"""
    assert run(code).startswith("DeviceUnavailableError create_stream: the device is not there")
