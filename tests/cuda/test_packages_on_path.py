"""The packages of the CUDA device in a plain folder on PYTHONPATH, of which Python reads no .pth files."""

import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from ep.cuda.driver.packages import LIBRARIES, why_no_kernels
from tests.subprocesses import command, environment_of
from tools.search_paths import extended

if why := why_no_kernels():
    pytest.skip(why, allow_module_level=True)

PACKAGES = (
    *("numpy", "ml_dtypes", "numba", "llvmlite", "packaging"),
    *("numba-cuda", "cuda-bindings", "cuda-core", "cuda-pathfinder"),
)
NVIDIA = ("nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-cuda-runtime")
COMPILE = """
from ep.cuda.compile.compiler import assemble, ptx
from ep.cuda.engine.move.gather import kernel
from ep.include import DataType
print(assemble(ptx(kernel(DataType.kInt32, 4, 32, True, True), (9, 0)), (9, 0))[:4])
"""
PATHS = f"from ep.cuda.driver.packages import load\nfor library in {LIBRARIES}:\n    print(load(library))\n"
WHY = "from ep.cuda.driver.packages import why_no_kernels\nprint(why_no_kernels())\n"


def files(*packages):
    return [file for package in packages for file in metadata.files(package)]


def folder_of(folder, *packages):
    """Return a folder with what pip would write into it with `--target`."""
    folder.mkdir()
    for top in {file.parts[0] for file in files(*packages)} - {".."}:
        (folder / top).symlink_to(metadata.distribution(packages[0]).locate_file(top))
    return folder


@pytest.fixture
def carried(tmp_path):
    if any(metadata.files(package) is None for package in (*PACKAGES, *NVIDIA)):
        pytest.skip("a package has no list of its files")
    return folder_of(tmp_path / "carried", *PACKAGES, *NVIDIA)


def run(code, folder, **environment):
    """Return the output of `code` in a Python that has no folder of packages but those of PYTHONPATH."""
    code = f"import site\nsite.PREFIXES[:] = []\n{code}"
    python, *options = command(code)
    environment = environment_of([str(folder)], environment)
    done = subprocess.run([python, "-S", *options], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kernels_are_compiled(carried, tmp_path):
    assert run(COMPILE, carried, EP_CACHE_DIR=str(tmp_path / "cache")) == "b'\\x7fELF'\n"


@pytest.fixture
def toolkit(tmp_path):
    """Another folder of the libraries."""
    folder = tmp_path / "toolkit"
    (folder / "lib64").mkdir(parents=True)
    (folder / "nvvm").mkdir()
    (folder / "nvvm" / "lib64").symlink_to(folder / "lib64")
    for file in files(*NVIDIA):
        if ".so" in file.name:
            (folder / "lib64" / file.name).symlink_to(file.locate())
    return folder


def test_libraries_that_the_loader_finds_are_preferred(carried, toolkit):
    paths = run(PATHS, carried, LD_LIBRARY_PATH=extended("LD_LIBRARY_PATH", toolkit / "lib64")).split()
    assert {Path(path).parent for path in paths} == {toolkit / "lib64"}


def test_those_of_cuda_home_are_preferred(carried, toolkit):
    quiet = "import warnings\nwarnings.simplefilter('ignore')\n"  # of libraries without their release in their names
    paths = run(quiet + PATHS, carried, CUDA_HOME=str(toolkit)).split()
    assert not any(Path(path).is_relative_to(carried) for path in paths)


def test_what_is_in_no_folder_is_missing(tmp_path):
    said = run(WHY, folder_of(tmp_path / "carried", *PACKAGES))
    if said == "None\n":
        pytest.skip("the libraries are found elsewhere")
    assert said.endswith(" not found, in no package and no CUDA toolkit; pip install 'ep-primitives[cuda]'\n")


def test_what_was_imported_before(carried, toolkit):
    said = run("import numba.cuda\n" + WHY, carried)
    assert said.startswith("the program has imported the numba.cuda of Numba, not that of numba-cuda")
    (before,) = [part for part in said.split("; ") if "site.addsitedir" in part]
    call = before.removeprefix("call ").removesuffix(" before\n")
    # numba-cuda uses what NumPy 2.5 deprecates, and alone it does not find the libraries along PYTHONPATH
    quiet = "import warnings\nwith warnings.catch_warnings(action='ignore'):\n    import numba.cuda\n"
    code = f"import site\n{call}\n{quiet}{WHY}"
    assert run(code, carried, LD_LIBRARY_PATH=extended("LD_LIBRARY_PATH", toolkit / "lib64")) == "None\n"
