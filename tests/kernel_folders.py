"""Folders of compiled kernels for processes that tests start.

Every launch needs some kernels, such as the one that shares work among threads; compiling them takes three seconds. A
test that is about other kernels has a copy of a folder with these.
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
"""The kernels of LAUNCH, with those above."""


@pytest.fixture(scope="session")
def launched(shared):
    """Return the folder of the kernels of LAUNCH, which one process of the run compiles. Tests write only to copies."""

    def launch(folder: Path) -> None:
        assert run(LAUNCH, EP_CACHE_DIR=str(folder)).strip() == "[0.0, 0.0, 2.0] 6 0"

    return made_once(shared / "launched", launch)


@pytest.fixture
def kernels(launched, tmp_path):
    """Return a copy of the folder of the kernels of LAUNCH."""
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
