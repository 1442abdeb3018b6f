"""If CUDA packages, the driver or the GPU is missing, everything else works, and the error names the missing part."""

import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from ep.cuda import device_manager
from ep.cuda.device_manager import CudaDeviceManager
from ep.cuda.driver import cuda_driver, packages
from ep.cuda.driver.cuda_driver import CudaDriver
from ep.include import DeviceUnavailableError
from tests.subprocesses import run

# a process that finds no driver, even if this machine has one
NO_DRIVER = "import ep.cuda.driver.cuda_driver as real\nreal._LIBRARY = 'libnothing.so.1'\n"

NO_COMPILER = """
import sys
assert not {"numba", "llvmlite", "cuda", "numba_cuda"} & {name.partition(".")[0] for name in sys.modules}
"""


def test_the_rest_works_and_loads_nothing():
    run(
        f"""{NO_DRIVER}
import ep
from ep.include.primitive import GatherFactory, registered

cuda = ep.DeviceType.kCUDA
manager = ep.DeviceManagerRegistry.GetDeviceManager(cuda)
assert manager.GetDeviceCount() == 0
assert manager.GetActiveDeviceIndex() == 0
assert ep.NewPrimitive(GatherFactory, cuda, "float32", "int64") is None
assert ep.NewPrimitive(GatherFactory, ep.DeviceType.kCPU, "float32", "int64") is not None
assert {{entry.device_type.tag for entry in registered()}} >= {{"cpu", "cuda"}}
try:
    ep.RequirePrimitive(GatherFactory, cuda, "float32", "int64")
except ep.UnsupportedPrimitiveError as error:
    assert str(error).startswith(
        f"Gather(kFloat, kInt64) on cuda is not supported: the device is absent: {{manager.WhyUnavailable()}}"
    ), error
else:
    raise AssertionError
try:
    ep.DeviceManagerRegistry.GetDevice(cuda, 0)
except ep.DeviceUnavailableError as error:
    assert str(error) == f"there is no CUDA device: {{manager.WhyUnavailable()}}", error
else:
    raise AssertionError
{NO_COMPILER}""",
    )


def test_it_is_imported_when_first_asked_for():
    run("import sys, ep\nassert 'ep.cuda' not in sys.modules\nassert ep.DeviceType.kCUDA.tag == 'cuda'" + NO_COMPILER)


@pytest.mark.parametrize("command", ["list", "devices"])
def test_commands_work_without_it(command):
    printed = run(f"{NO_DRIVER}from ep.cli.main import main\nassert main(['{command}']) == 0\n{NO_COMPILER}")
    assert "cuda" in printed


needs_numba_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


@needs_numba_cuda
def test_a_run_of_tests_for_it_ends_at_once():
    options = ["--ep-device", "cuda", "--collect-only", "-q", "-p", "no:cacheprovider", "--noconftest", __file__]
    said = run(f"{NO_DRIVER}import pytest\nraise SystemExit(pytest.main({options!r}))", fails=True)
    assert said.startswith(
        "ERROR: --ep-device cuda: there is no CUDA device: no NVIDIA driver was found (libnothing.so.1"
    )


class FakeCuda(SimpleNamespace):
    """The functions of `cuda.bindings.driver` that are called before there is a device; tests choose their results."""

    def __init__(self, init=0, version=13000, count=1):
        super().__init__(
            cuInit=lambda flags: (init,),
            cuDriverGetVersion=lambda: (0, version),
            cuDeviceGetCount=lambda: (0, count),
            cuGetErrorName=lambda result: (0, b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
            cuGetErrorString=lambda result: (0, b"system has unsupported display driver / cuda driver combination"),
        )


@pytest.fixture
def driver(monkeypatch):
    """A real driver that finds all libraries it looks for; the tests do not use them."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(packages, "version_of", lambda package: "13.5.0")
    monkeypatch.setattr(cuda_driver, "version_of", lambda package: "13.5.0")
    monkeypatch.setattr(packages, "path_of", lambda library: f"/{library}.so")
    monkeypatch.setattr(cuda_driver.ctypes, "CDLL", lambda name: None)
    driver = CudaDriver()
    driver._cuda = FakeCuda()
    return driver


def test_everything_is_there(driver):
    assert (driver.device_count(), driver.why_unavailable()) == (1, None)


@pytest.mark.parametrize("missing", [("numba-cuda",), ("cuda-bindings",), ("numba-cuda", "cuda-bindings")])
def test_no_packages(driver, monkeypatch, missing):
    monkeypatch.setattr(packages, "version_of", lambda package: None if package in missing else "1")
    assert driver.device_count() == 0
    assert driver.why_unavailable() == f"{' and '.join(missing)} not installed; pip install 'ep-primitives[cuda]'"


@pytest.mark.parametrize("missing", [*zip(packages.LIBRARIES), ("nvvm", "nvJitLink")])
def test_no_libraries(driver, monkeypatch, missing):
    monkeypatch.setattr(packages, "path_of", lambda library: None if library in missing else "/there.so")
    why = f"{' and '.join(missing)} not found, in no package and no CUDA toolkit; pip install 'ep-primitives[cuda]'"
    assert (driver.device_count(), driver.why_unavailable()) == (0, why)


def test_the_compiler_calls_no_other_library():
    """A kernel is compiled, and each library that is looked for is one of those that are checked."""
    if why := packages.why_no_kernels():
        pytest.skip(why)
    printed = run("""
from cuda import pathfinder
load, asked = pathfinder.load_nvidia_dynamic_lib, []
pathfinder.load_nvidia_dynamic_lib = lambda name: asked.append(name) or load(name)
from ep.cuda.compile.compiler import assemble, ptx
from ep.cuda.engine.move.gather import kernel
from ep.include import DataType
assemble(ptx(kernel(DataType.kInt32, 4, 32, True, True), (9, 0)), (9, 0))
print(*sorted(set(asked)))
""")
    assert printed.split() == sorted(packages.LIBRARIES)


def test_what_is_no_library_is_not_found():
    assert packages.path_of("nvnothing") is None


def test_numbas_simulator_is_no_device(driver, monkeypatch):
    """The simulator replaces the compiler that kernels need."""
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert driver.device_count() == 0
    why = "NUMBA_ENABLE_CUDASIM is set, with which Numba compiles nothing for a GPU; unset it"
    assert driver.why_unavailable() == why


@pytest.mark.parametrize("version", ["0.4.0", "0.30.3"])
def test_a_compiler_that_is_too_old(driver, monkeypatch, version):
    """Another package may have pinned an old version."""
    monkeypatch.setattr(packages, "version_of", lambda package: version)
    assert driver.device_count() == 0
    assert (
        driver.why_unavailable()
        == f"numba-cuda {version} is too old: 0.30.4 is needed; pip install 'ep-primitives[cuda]'"
    )


def test_the_oldest_compiler_is_that_of_pyproject():
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    (compiler,) = extras["cuda"]
    assert compiler.startswith(f"numba-cuda[cu13]>={'.'.join(map(str, packages._OLDEST_COMPILER))}")


@needs_numba_cuda
def test_numpy_is_left_as_it_was():
    """numba-cuda reads an attribute that NumPy 2.5 does not have."""
    code = "import numpy\nbefore = set(vars(numpy))\nimport ep.cuda.compile.numba_cuda\n"
    run(code + "assert 'row_stack' not in set(vars(numpy)) ^ before")


def test_no_driver(driver, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(packages, "version_of", lambda package: "13.5.0")
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "libnothing.so.1")
    assert driver.device_count() == 0
    assert driver.why_unavailable().startswith("no NVIDIA driver was found (libnothing.so.1: ")


def test_no_gpu(driver, monkeypatch):
    driver._cuda = FakeCuda(init=100)
    assert (driver.device_count(), driver.why_unavailable()) == (0, "the NVIDIA driver finds no GPU")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    hidden = CudaDriver()
    hidden._cuda = FakeCuda(count=0)
    assert hidden.why_unavailable() == "the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES is '')"


def test_what_the_driver_said(driver):
    driver._cuda = FakeCuda(init=803)
    assert driver.why_unavailable() == (
        "the NVIDIA driver cannot be used: cuInit: system has unsupported display driver / cuda driver combination "
        "(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, error 803)"
    )


def test_an_older_driver(driver):
    driver._cuda = FakeCuda(version=12040)
    assert driver.why_unavailable() == (
        "the NVIDIA driver supports CUDA 12.4, and the installed CUDA packages need 13.0; install a newer driver"
    )


def test_a_driver_that_lacks_a_function(driver):
    def missing(flags):
        raise RuntimeError('Function "cuInit" not found')

    driver._cuda.cuInit = missing
    assert driver.why_unavailable() == 'the NVIDIA driver cannot be used: Function "cuInit" not found'


def test_the_manager_says_so(driver, monkeypatch):
    driver._cuda = FakeCuda(init=100)
    monkeypatch.setattr(device_manager, "driver", lambda: driver)
    manager = CudaDeviceManager()
    assert manager.GetDeviceCount() == 0
    for ask in (manager.GetDevice, manager.SetActiveDeviceByIndex):
        with pytest.raises(DeviceUnavailableError, match="there is no CUDA device: the NVIDIA driver finds no GPU"):
            ask(0)


def test_arrays_of_a_gpu_that_is_not_there():
    """The operator's error names the argument and the missing part, including missing packages."""
    run(
        """
import sys
import numpy as np
from ep.cuda.driver import packages

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cuda":
            raise ModuleNotFoundError("No module named 'cuda'", name="cuda")

sys.meta_path.insert(0, Absent())
packages.version_of = lambda package: None
import ep.ops
from ep import DeviceUnavailableError

class Interface:
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}

class Tensor:
    def __dlpack_device__(self):
        return 2, 0

for array in (Interface(), Tensor()):
    for argument, call in {
        "x": lambda: ep.ops.gelu(array),
        "y": lambda: ep.ops.add(np.ones(3, np.float32), array),
        "indices": lambda: ep.ops.gather(np.ones(3), array),
        "arrays[1]": lambda: ep.ops.concat([np.ones(3), array]),
        "array": lambda: ep.ops.copy_to_host(array),
        "fill_value": lambda: ep.ops.full((3,), array),
    }.items():
        try:
            call()
        except DeviceUnavailableError as error:
            name = type(array).__name__
            expected = f"{argument} ({name}) is an array of a cuda device, and there is none: numba-cuda and "
            assert str(error).startswith(expected), error
        else:
            raise AssertionError
""",
    )
