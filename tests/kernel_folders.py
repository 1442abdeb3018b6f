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
LOUD = "import logging, sys\nlogging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(message)s')\n"
"""All messages of the package are part of the output."""
OF_SHARING = "thread_pool.share"
OF_ANY_LAUNCH = ("thread_pool.work", OF_SHARING, "enter", "launch")
OF_MAPS = "launch.map"
OF_RELU = "elementwise_unary.kRelu.kFloat.kFloat"
"""The kernels of LAUNCH, with those above."""


TWO_KERNELS = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(message)s")
from ep import DataType, UnaryOp
from ep.cpu.compile.compiler import statistics
from ep.cpu.kernels.functors import op_kernel
for op in (UnaryOp.kRelu, UnaryOp.kAbs):
    op_kernel(op, DataType.kFloat, DataType.kFloat)
print(statistics.compiled, statistics.loaded)
"""
"""Compiles OF_RELU, and a kernel that LAUNCH does not have, without the kernels of any launch."""


@pytest.fixture(scope="session")
def first_launch(shared):
    """Return the folder of what one process of the run, which runs LAUNCH with an empty cache, has made and printed."""

    def launch(folder: Path) -> None:
        folder.mkdir()
        printed = run(LOUD + LAUNCH, EP_CACHE_DIR=str(folder / "kernels"))
        assert printed.splitlines()[-1] == "[0.0, 0.0, 2.0] 6 0"
        (folder / "printed").write_text(printed)

    return made_once(shared / "launched", launch)


@pytest.fixture(scope="session")
def launched(first_launch):
    """Return the folder of the kernels of LAUNCH. Tests write only to copies."""
    return first_launch / "kernels"


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
