"""The disk cache of compiled kernels: it hits across processes, and stale code never runs."""

import os
import shutil
import time
from pathlib import Path

import pytest

import ep
from ep.common.kernel_cache import usage, user_cache_folder
from ep.cpu.machine.kernel_cache import CACHE
from tests.kernel_folders import LAUNCH, LOUD, OF_MAPS, OF_RELU, OF_SHARING, files_of, remove
from tests.subprocesses import run

TO_STDOUT = "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
"""Log messages of the package are part of the output."""


def test_the_second_process_compiles_nothing(launched):
    assert run(LAUNCH, EP_CACHE_DIR=str(launched)).strip() == "[0.0, 0.0, 2.0] 0 6"


def test_what_loads_kernels_does_not_import_what_compiles_them(kernels):
    """Numba imports its compiler at the first compilation; another kernel can be compiled after kernels were loaded."""
    code = f"""{LAUNCH}
assert "numba.np.arraymath" not in sys.modules
square = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kSquare, "float32", "float32")
square.Launch(stream, out, out, 3)
assert "numba.np.arraymath" in sys.modules
print(out.tolist(), statistics.compiled, statistics.loaded)
"""
    lines = run(code, EP_CACHE_DIR=str(kernels)).splitlines()
    assert lines == ["[0.0, 0.0, 2.0] 0 6", "[0.0, 0.0, 4.0] 1 6"]


def test_a_long_first_launch_logs_one_line(first_launch):
    lines = (first_launch / "printed").read_text().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("ElementwiseUnary(kRelu, kFloat, kFloat) on cpu took ")


def test_numbas_own_cache_settings_are_neither_used_nor_needed(kernels, tmp_path):
    remove(kernels, OF_RELU, OF_MAPS)
    run(LAUNCH, EP_CACHE_DIR=str(kernels), NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    assert not (tmp_path / "numba").exists()
    assert usage(kernels)[0] == 6


@pytest.fixture
def sources(tmp_path):
    """Return a folder with a copy of the package, with its bytecode: files of the same date count as unchanged."""
    shutil.copytree(Path(ep.__file__).parent, tmp_path / "sources" / "ep")
    return tmp_path / "sources"


@pytest.mark.ep_long
def test_an_edited_functor_is_compiled_again(kernels, sources):
    """relu is edited in a file that defines no kernel. All kernels of a launch are compiled again."""
    cache = {"EP_CACHE_DIR": str(kernels)}
    assert run(LAUNCH, str(sources), **cache).strip() == "[0.0, 0.0, 2.0] 0 6"
    functors = sources / "ep" / "common" / "functor" / "unary"
    (changed,) = (path for path in functors.glob("*.py") if "def relu(" in path.read_text())
    text = changed.read_text()
    edited = text.replace("return zero if x <= zero else x", "return x if x <= zero else (zero)")
    assert edited != text
    changed.write_text(edited)
    assert run(LAUNCH, str(sources), **cache).strip() == "[-1.0, 0.0, 0.0] 6 0"
    assert run(LAUNCH, str(sources), **cache).strip() == "[-1.0, 0.0, 0.0] 0 6"
    changed.write_text(text)
    assert run(LAUNCH, str(sources), **cache).strip() == "[0.0, 0.0, 2.0] 0 6"


def test_sources_dated_in_the_future(kernels, sources):
    future = time.time() + 10**6
    for path in sources.rglob("*.py"):
        os.utime(path, (future, future))
    cache = {"EP_CACHE_DIR": str(kernels)}
    remove(kernels, OF_RELU, OF_MAPS)
    assert run(LAUNCH, str(sources), **cache).strip() == "[0.0, 0.0, 2.0] 2 4"
    assert run(LAUNCH, str(sources), **cache).strip() == "[0.0, 0.0, 2.0] 0 6"


@pytest.mark.ep_long
def test_kernels_of_different_processes_do_not_share_symbols(kernels):
    """Each process compiles one kernel as its first one; another process then loads all of them, in any order."""
    code = """
import numpy as np, sys
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import GatherFactory
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
for index_type in {types}:
    out = np.zeros(3, np.float32)
    gather = RequirePrimitive(GatherFactory, DeviceType.kCPU, "float32", index_type)
    gather.Launch(stream, 1, 5, 1, np.arange(5, dtype=np.float32), 3, np.array([4, 0, 3], index_type), out)
    assert out.tolist() == [4, 0, 3], (index_type, out)
"""
    types = ("int8", "uint16", "int32", "int64")
    for index_type in types:
        run(code.format(types=(index_type,)), EP_CACHE_DIR=str(kernels))
    for order in (types, types[::-1]):
        run(code.format(types=order), EP_CACHE_DIR=str(kernels))


@pytest.mark.ep_long
def test_kernels_of_sources_edited_under_a_running_process_are_not_cached(kernels, sources):
    """They are neither read nor written, and the reason is said once."""
    touch = """
import ep.cpu
from ep.common.functor.unary import piecewise
open(piecewise.__file__, "a").write("# a word")
"""
    *lines, result = run(LOUD + touch + LAUNCH, str(sources), EP_CACHE_DIR=str(kernels)).splitlines()
    assert result == "[0.0, 0.0, 2.0] 6 0"
    assert lines.count("a source of ep was edited under this process: kernels are not kept") == 1
    assert usage(kernels)[0] == 6


def test_a_kernel_is_not_kept_if_what_compiles_it_was_edited_before_it_was_imported(kernels, sources):
    """The first kernels are on disk, so the compiler is imported after the edit, and after the digest was taken."""
    code = f"""{LAUNCH}
assert "ep.cpu.compile.lowering" not in sys.modules
with open(ep.__file__.replace("__init__.py", "cpu/compile/lowering.py"), "a") as file:
    file.write("# a word")
square = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kSquare, "float32", "float32")
square.Launch(stream, out, out, 3)
print(out.tolist(), statistics.compiled, statistics.loaded)
"""
    lines = run("import ep\n" + code, str(sources), EP_CACHE_DIR=str(kernels)).splitlines()
    assert lines == ["[0.0, 0.0, 2.0] 0 6", "[0.0, 0.0, 4.0] 1 6"]
    assert usage(kernels)[0] == 6


def test_damaged_files_are_compiled_again(kernels):
    """Damage three files: one is empty, one is no kernel, and one has lost its end. Each is reported."""
    each = """
from ep.cpu.machine.kernel_cache import CACHE
class Forgets(set):
    def add(self, what): pass
CACHE._said = Forgets()  # else only the first one is reported
"""
    empty, other, short = damaged = files_of(kernels, OF_RELU, OF_MAPS, OF_SHARING)
    empty.write_bytes(b"")
    other.write_bytes(b"not a kernel")
    short.write_bytes(short.read_bytes()[:1000])
    *lines, result = run(TO_STDOUT + each + LAUNCH, EP_CACHE_DIR=str(kernels)).splitlines()
    assert sorted(lines) == sorted(f"{file} is damaged and ignored; a new one is written" for file in damaged)
    assert result == "[0.0, 0.0, 2.0] 3 3"
    assert run(LAUNCH, EP_CACHE_DIR=str(kernels)).strip() == "[0.0, 0.0, 2.0] 0 6"


def test_a_folder_that_cannot_be_written_costs_one_line(tmp_path):
    """The launch works, also if warnings are errors; the line describes the consequence."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    lines = run(TO_STDOUT + LAUNCH, EP_CACHE_DIR=str(blocked)).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("compiled kernels cannot be kept for the next process: ")
    assert lines[1] == "[0.0, 0.0, 2.0] 6 0"


@pytest.mark.ep_long
def test_processes_that_share_a_folder(tmp_path):
    """Several processes start with one empty folder: all results are right, and the next process loads all kernels."""
    code = f"""
import subprocess, sys
commands = [subprocess.Popen([sys.executable, "-c", {LAUNCH!r}], stdout=subprocess.PIPE, text=True) for _ in range(4)]
for command in commands:
    assert command.communicate()[0].startswith("[0.0, 0.0, 2.0]")
"""
    run(code, EP_CACHE_DIR=str(tmp_path))
    assert not list(tmp_path.rglob("*.partial"))
    assert run(LAUNCH, EP_CACHE_DIR=str(tmp_path)).strip() == "[0.0, 0.0, 2.0] 0 6"


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path))
    assert user_cache_folder() == tmp_path
    monkeypatch.delenv("EP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert user_cache_folder() == tmp_path / "xdg" / "ep"


def test_clearing(monkeypatch, tmp_path):
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path))
    for version in ("cpu-0123", "cpu-4567"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "x.kernel").write_bytes(b"12345")
    (tmp_path / "other").mkdir()
    assert [folder.name for folder in CACHE.folders()] == ["cpu-0123", "cpu-4567"]
    assert CACHE.clear() == 10
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


MOVES = """
import numpy as np
from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.cpu.compile.compiler import statistics
from ep.include.primitive import BroadcastBinaryFactory, ExpandFactory, GatherFactory
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
gather = RequirePrimitive(GatherFactory, DeviceType.kCPU, "uint8", "int16")
expand = RequirePrimitive(ExpandFactory, DeviceType.kCPU, "uint8", 3)
add = RequirePrimitive(BroadcastBinaryFactory, DeviceType.kCPU, BinaryOp.kAdd, "uint8", "uint8", 3)
zeros, out, indices = np.zeros(2**20, np.uint8), np.ones(2**20, np.uint8), np.zeros(3, np.int16)

def launch_all():
    for size in (*range(1, 140), 5000):
        gather.Launch(stream, 1, 4, size, zeros, 3, indices, out)
        for src, dst in (((1, size), (4, size)), ((size, 1), (size, 5)), ((3, 1, size), (3, 4, size)),
                         ((3, size, 1), (3, size, 3)), ((size, 1), (size, 2)), ((1, size), (150, size))):
            expand.Launch(stream, src, zeros, dst, out)
            add.Launch(stream, src, zeros, dst, zeros, out)
        expand.Launch(stream, (size,), zeros, (size,), out, (2,))
"""


@pytest.mark.ep_long
def test_a_launch_compiles_what_it_needs_and_prepare_what_any_launch_may_need(kernels):
    needed = """
gather.Launch(stream, 1, 4, 6, zeros, 3, indices, out)
expand.Launch(stream, (6, 1), zeros, (6, 2), out)
names = [name for name in statistics.names if "thread_pool" not in name]
for_all = ["enter", "launch", "launch.gather", "launch.move"]
assert sorted(names) == sorted([*for_all, "gather.kInt16.5", "gather.walk", "move.each.1.2", "move.walk"]), names
launch_all()
"""
    run(MOVES + needed, EP_CACHE_DIR=str(kernels))
    all_ready = """
for primitive in (gather, expand, add):
    primitive.Prepare()
before = statistics.loaded, statistics.compiled
launch_all()
assert (statistics.loaded, statistics.compiled) == before
"""
    run(MOVES + all_ready, EP_CACHE_DIR=str(kernels))


RECORDED = """
from inspect import ismethoddescriptor
import numpy as np
from ep import DeviceType, RequirePrimitive, UnaryOp
from ep.common.arrays.on_device import arrays_on
from ep.cpu.compile.compiler import statistics
from ep.include.primitive import ElementwiseUnaryFactory
relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kRelu, "float32", "float32")

def recorded(arrays, inputs, values):
    written = arrays.empty((3,), np.dtype(np.float32))
    relu.Launch(arrays.stream, *inputs, written, 3)
    return [written]

arrays, x = arrays_on(DeviceType.kCPU), np.array([-1, 0, 2], np.float32)
print(*arrays.new_recording().record(recorded, [x], [], [], []).results)
assert "launch" not in statistics.names
out = np.ones(3, np.float32)
relu.Launch(stream=arrays.stream, src=x, dst=out, count=3)
print(out)
assert "launch" in statistics.names
assert ismethoddescriptor(type(relu).Launch)
"""


def test_a_recording_needs_no_compiled_launch_and_the_first_other_launch_has_it(kernels):
    assert run(RECORDED, EP_CACHE_DIR=str(kernels)).splitlines() == ["[0. 0. 2.]"] * 2


def test_repr_shows_the_key():
    from ep import DeviceType, RequirePrimitive, UnaryOp
    from ep.include.primitive import ElementwiseUnaryFactory

    relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kElu, "float32", "float32", 0.5)
    assert "ElementwiseUnary(kElu, kFloat, kFloat, alpha=0.5)" in repr(relu)
