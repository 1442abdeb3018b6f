"""CUDA kernels on disk: a second process compiles nothing, and a damaged file is compiled again. Needs no device."""

import textwrap
from importlib import metadata

import pytest

COMPILE = """
from ep.cuda.compile import compiler
from ep.cuda.engine.move import move
for cc in ((9, 0), (8, 0)):
    code = compiler.cubin(move.kernel(1, 16, 1, 32), cc)
    assert code.startswith(b"\\x7fELF") and b"ep_kernel" in code
print(compiler.statistics.compiled, compiler.statistics.loaded)
"""


@pytest.fixture
def environment(tmp_path):
    try:
        metadata.version("numba-cuda")
    except metadata.PackageNotFoundError:
        pytest.skip("numba-cuda is not installed")
    return {"EP_CACHE_DIR": str(tmp_path)}


A_CHUNK = """
from ep.cuda.compile import compiler
from ep.cuda.engine.map.chunks import CHUNK, ChunkVariant
from ep.cuda.kernels.add import kernel
from ep.include import DataType
T = DataType.kComplex128
compiler.cubin(kernel(T, ChunkVariant(CHUNK, T, T, 1)), (9, 0))
print(compiler.statistics.compiled, compiler.statistics.loaded)
"""


def test_kernels_of_the_most_operands_have_names_that_a_file_may_have(run_forked, environment):
    """Each look-up reads the disk: a process does not keep the code itself."""
    assert run_forked(A_CHUNK * 2, **environment).split() == ["1", "0", "1", "1"]


def test_the_second_process_compiles_nothing_but_what_was_damaged(run_forked, environment, tmp_path):
    assert run_forked(COMPILE, **environment).split() == ["2", "0"]
    (damaged,) = tmp_path.glob("cuda-*/move.*-sm_90-*.kernel")
    again = f"""{COMPILE}
from pathlib import Path
damaged = Path({str(damaged)!r})
whole = damaged.read_bytes()
for contents in (b"", whole[:-1], bytes(5000)):
    damaged.write_bytes(contents)
{textwrap.indent(COMPILE, "    ")}
"""
    assert run_forked(again, **environment).split() == ["0", "2", "1", "3", "2", "4", "3", "5"]
    assert run_forked(COMPILE, **environment).split() == ["0", "2"]


def test_a_folder_that_cannot_be_written_costs_one_line(run_forked, environment, tmp_path):
    (tmp_path / "file").write_text("")
    environment["EP_CACHE_DIR"] = str(tmp_path / "file")
    code = "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='%(message)s')\n" + COMPILE
    lines = run_forked(code, **environment).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("compiled kernels cannot be kept for the next process: ")
    assert lines[1].split() == ["2", "0"]


def test_ptx_is_kept_for_a_driver_that_loads_it(run_forked, environment):
    code = """
from ep.cuda.compile import compiler
from ep.cuda.engine.move import move
text = compiler.image(move.kernel(1, 16, 1, 32), (9, 0), as_ptx=True).decode()
assert text.startswith("// move.1.16.1.32\\n") and ".entry ep_kernel(" in text
assert compiler.image(move.kernel(1, 16, 1, 32), (9, 0), as_ptx=False).startswith(b"\\x7fELF")
print(compiler.statistics.compiled, compiler.statistics.loaded)
"""
    assert run_forked(code * 2, **environment).split() == ["2", "0", "2", "2"]


def test_ptx_that_is_on_disk_is_assembled(run_forked, environment):
    """A folder with the PTX of a machine without a GPU is carried to one with a GPU: the compiler of PTX is not run."""
    code = """
from ep.cuda.compile import compiler
from ep.cuda.engine.move.move import kernel
compiler.image(kernel(1, 16, 1, 32), (9, 0), as_ptx=True)
def never(*arguments):
    raise AssertionError
compiler.numba_cuda.compile_kernel = never
print(compiler.cubin(kernel(1, 16, 1, 32), (9, 0))[:4])
"""
    assert run_forked(code, **environment) == "b'\\x7fELF'\n"


def test_a_driver_is_replaced_before_it_is_used_or_not_at_all(run_forked):
    code = """
from ep.cuda.driver.current import driver, use_driver
from tests.cuda.ptx_machine.driver import PtxDriver
other = PtxDriver()
use_driver(other)
assert driver() is other
try:
    use_driver(PtxDriver())
except RuntimeError as error:
    print(error)
"""
    assert run_forked(code) == "the process has a driver already\n"
