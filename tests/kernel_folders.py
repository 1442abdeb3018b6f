"""Folders of compiled kernels for processes that tests start.

Some kernels are those of every launch, such as the one by which threads share work: to compile them takes three
seconds. Where a test is about others, its folder is a copy of one that has them.
"""

import shutil
from pathlib import Path

import pytest

from tests.once import made_once
from tests.subprocesses import run

LAUNCH = """
import numpy as np, sys
import ep
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kRelu, "float32", "float32")
assert "numba" not in sys.modules
out = np.zeros(3, np.float32)
relu.Launch(stream, np.array([-1, 0, 2], np.float32), out, 3)
from ep.cpu.compile.compiler import statistics
print(out.tolist(), statistics.compiled, statistics.loaded)
"""
OF_ANY_LAUNCH = ("thread_pool.work", "thread_pool.share", "enter", "launch")
OF_MAPS = "launch.map"
OF_RELU = "elementwise_unary.kRelu.kFloat.kFloat"
"""The kernels of LAUNCH."""


@pytest.fixture(scope="session")
def launched(shared):
    """The kernels of LAUNCH, which one process of the run has compiled. Processes write to copies only."""

    def launch(folder: Path) -> None:
        assert run(LAUNCH, EP_CACHE_DIR=str(folder)).strip() == "[0.0, 0.0, 2.0] 6 0"

    return made_once(shared / "launched", launch)


@pytest.fixture
def kernels(launched, tmp_path):
    """A copy of them."""
    return shutil.copytree(launched, tmp_path / "kernels")


def files_of(folder: Path, *names: str) -> list[Path]:
    """Return the files of the kernels of these names."""
    files = []
    for name in names:
        (file,) = folder.glob(f"*/{name}-*.kernel")
        files.append(file)
    return files


def remove(folder: Path, *names: str) -> None:
    """Remove the kernels of these names."""
    for file in files_of(folder, *names):
        file.unlink()
