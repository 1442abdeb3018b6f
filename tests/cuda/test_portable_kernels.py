"""CUDA kernels on disk are valid in other Pythons, with other packages and for another copy of the sources."""

import re
import shutil
from pathlib import Path

import pytest

import ep
from ep.cuda.compile import compiler
from ep.cuda.compile.kernel_cache import CACHE, KERNELS
from ep.cuda.driver import packages
from ep.cuda.engine.move import move
from tests.subprocesses import SOURCES, run

if why := packages.why_no_kernels():
    pytest.skip(why, allow_module_level=True)

COMPILE = """
from ep.cuda.compile import compiler
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.functor import functor_of
from ep.cuda.engine.map.kernel import kernel
from ep.include import DataType
from ep.include.primitive import UnaryOp
T = DataType.kBFloat16
compiler.image(kernel(functor_of(UnaryOp.kGelu, T, T), Variant(8, (Access.SAME,))), (9, 0), as_ptx=True)
print(compiler.statistics.compiled, compiler.statistics.loaded)
"""
FOLDERS = """
from ep.cuda.compile.kernel_cache import CACHE, KERNELS
print(KERNELS.folder().name, CACHE.folder().name)
"""


def elsewhere(*changed, tag="cpython-399"):
    """Return code that begins a process of another Python, with other versions of packages."""
    return f"""
import sys
sys.implementation.cache_tag = {tag!r}
from ep.common.kernel_cache import versions
from ep.cuda.driver import packages
def other(version):
    return lambda package: "0.0.1" if package in {changed} else version(package)
versions.version = other(versions.version)
packages.version_of = other(packages.version_of)
"""


RUNTIME = ("numpy", "ml_dtypes", "cuda-bindings", "nvidia-nvjitlink", "nvidia-cuda-nvrtc")


@pytest.fixture(scope="module")
def filled(tmp_path_factory, run_forked):
    """A cache with a kernel, to which nothing is written."""
    folder = str(tmp_path_factory.mktemp("filled"))
    assert run_forked(COMPILE, EP_CACHE_DIR=folder) == "1 0\n"
    return folder


def test_another_python_compiles_nothing(run_forked, filled):
    assert run_forked(elsewhere(*RUNTIME) + COMPILE, EP_CACHE_DIR=filled) == "0 1\n"


def test_another_copy_of_the_sources_compiles_nothing(filled, tmp_path):
    shutil.copytree(Path(ep.__file__).parent, tmp_path / "copy" / "ep", ignore=shutil.ignore_patterns("__pycache__"))
    code = f"import ep\nassert {SOURCES!r} not in ep.__file__\n{COMPILE}"
    assert run(code, str(tmp_path / "copy"), EP_CACHE_DIR=filled) == "0 1\n"


@pytest.mark.parametrize("package", ["numba", "numba-cuda", "llvmlite", "nvidia-nvvm"])
def test_another_compiler_has_a_folder_of_its_own(run_forked, package):
    kernels, functions = run_forked(elsewhere(package) + FOLDERS).split()
    assert kernels != KERNELS.folder().name
    assert functions != CACHE.folder().name


@pytest.mark.parametrize("package", ["", "numpy", "ml_dtypes", "cuda-bindings", "nvidia-nvjitlink"])
def test_host_code_is_of_one_python_with_its_packages(run_forked, package):
    kernels, functions = run_forked(elsewhere(package) + FOLDERS).split()
    assert kernels == KERNELS.folder().name
    assert functions != CACHE.folder().name


def test_the_release_of_nvvm_is_that_of_the_one_that_compiles():
    text = compiler.ptx(move.kernel(1, 16, 1, 32), (9, 0))
    (release,) = re.findall(r"(?m)^// Cuda compilation tools.* V([\d.]+)$", text)
    assert release in packages.nvvm_releases()
    path = Path(packages.load("nvvm"))
    if path in [Path(str(file.locate())) for file in packages.metadata.files("nvidia-nvvm") or ()]:
        assert packages.nvvm_releases() == (packages.version_of("nvidia-nvvm"),)


def test_both_folders_are_shown_and_removed(monkeypatch, tmp_path):
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path))
    CACHE.write("function-0123456789abcdef.kernel", bytes(10))
    KERNELS.write("kernel-0123456789abcdef.kernel", bytes(20))
    (tmp_path / "cuda-kernels-of-another").mkdir()
    found = CACHE.on_disk()
    assert (found.files, found.leftover_folders, found.why_unusable) == (2, 1, None)
    assert found.size == sum(file.stat().st_size for file in tmp_path.rglob("*.kernel"))
    assert (found.folder, found.portable_folder) == (CACHE.folder(), KERNELS.folder())
    assert CACHE.why_unwritable() is None
    CACHE.clear()
    assert not any(tmp_path.iterdir())
    KERNELS.folder().write_text("a file")
    assert CACHE.on_disk().why_unusable == f"{KERNELS.folder()} cannot be read: Not a directory"
    assert "Not a directory" in CACHE.why_unwritable()
