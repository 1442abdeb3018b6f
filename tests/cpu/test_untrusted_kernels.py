"""Cached kernels that were damaged, swapped, or written by another user are never run; the tests start processes."""

import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile

import pytest

from ep.cpu.machine.kernel_cache import CACHE
from ep.testing.fixtures import BASE_SEED
from tests.kernel_folders import OF_ANY_LAUNCH, OF_RELU, TWO_KERNELS, files_of
from tests.subprocesses import environment_of, run

LAUNCHES = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format='%(message)s')
import numpy as np
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory, GatherFactory
stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
for op, dtype, expected in ((UnaryOp.kRelu, "float32", [0, 3, 0]), (UnaryOp.kAbs, "int8", [2, 3, 5])):
    unary = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, op, dtype, dtype)
    out = np.ones(3, dtype)
    unary.Launch(stream, np.array([-2, 3, -5], dtype), out, 3)
    assert out.tolist() == expected, out
for index_type in ("int32", "int64"):
    gather = RequirePrimitive(GatherFactory, DeviceType.kCPU, "float32", index_type)
    out = np.zeros(3, np.float32)
    gather.Launch(stream, 1, 5, 1, np.arange(5, dtype=np.float32), 3, np.array([4, 0, 3], index_type), out)
    assert out.tolist() == [4, 0, 3], out
from ep.cpu.compile.compiler import statistics
print(statistics.compiled, statistics.loaded)
"""
NUM_KERNELS = 11
"""The number of kernels that LAUNCHES compiles in an empty folder."""

DOCTOR = """
from ep import DeviceManagerRegistry, DeviceType
from ep.cli.doctor import _kernels
for finding in _kernels("cpu kernels", DeviceManagerRegistry.GetDeviceManager(DeviceType.kCPU).compiled_kernels()):
    print(*finding)
"""


@pytest.fixture(scope="module")
def filled(launched, tmp_path_factory):
    """Return a cache with the kernels of LAUNCHES."""
    folder = shutil.copytree(launched, tmp_path_factory.mktemp("filled"), dirs_exist_ok=True)
    assert sum(map(int, run(LAUNCHES, EP_CACHE_DIR=str(folder)).split())) == NUM_KERNELS
    return folder


@pytest.fixture
def copy(filled, tmp_path):
    """Return a copy of that cache, and its files without those of every launch, which take long to compile again."""
    folder = shutil.copytree(filled, tmp_path / "cache")
    return folder, sorted({*folder.glob("*/*.kernel")} - {*files_of(folder, *OF_ANY_LAUNCH)})


def compiled(files):
    """Return the output of LAUNCHES if it compiles the kernels of these files and loads the others."""
    return [str(len(files)), str(NUM_KERNELS - len(files))]


def _damaged(contents, kind, generator):
    damaged = bytearray(contents)
    position = generator.randrange(len(damaged))
    if kind == "bit":
        damaged[position] ^= 1 << generator.randrange(8)
    elif kind == "byte":
        damaged[position] ^= generator.randrange(1, 256)
    elif kind == "bytes":
        damaged[position : position + 64] = bytes(255 - byte for byte in damaged[position : position + 64])
    elif kind == "cut":
        del damaged[position:]
    else:
        damaged.clear()
    return bytes(damaged)


def test_damaged_kernels_are_compiled_again(run_forked, copy):
    folder, files = copy
    generator = random.Random(BASE_SEED)
    for kind, file in zip(itertools.cycle(["bit", "bytes", "cut"]), files, strict=False):
        file.write_bytes(_damaged(file.read_bytes(), kind, generator))
    lines = run_forked(LAUNCHES, EP_CACHE_DIR=str(folder)).splitlines()
    assert len(lines) == 2, BASE_SEED
    assert lines[0].endswith("is damaged and ignored; a new one is written")
    assert lines[1].split() == compiled(files)
    assert run_forked(LAUNCHES, EP_CACHE_DIR=str(folder)).split() == compiled([])


def test_kernels_in_each_others_place_are_compiled_again(run_forked, copy):
    folder, files = copy
    contents = [file.read_bytes() for file in files]
    for file, other in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(other)
    assert run_forked(LAUNCHES, EP_CACHE_DIR=str(folder)).splitlines()[-1].split() == compiled(files)


def test_hundreds_of_damaged_files_are_taken_to_be_absent(copy, monkeypatch):
    folder, files = copy
    monkeypatch.setenv("EP_CACHE_DIR", str(folder))
    generator = random.Random(BASE_SEED)
    for file in files:
        contents = file.read_bytes()
        assert CACHE.read(file.name, bytes) is not None
        for trial in range(60):
            kind = ("bit", "byte", "bytes", "cut", "empty")[trial % 5]
            file.write_bytes(_damaged(contents, kind, generator))
            assert CACHE.read(file.name, bytes) is None, (BASE_SEED, file, trial)
        for other in files:
            file.write_bytes(other.read_bytes() if other != file else b"")
            assert CACHE.read(file.name, bytes) is None
        file.write_bytes(contents)


needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")


@needs_root
def test_a_file_that_another_user_planted_is_not_run(run_forked, copy):
    folder, files = copy
    for file in files:
        os.chown(file, 12345, 12345)
    lines = run_forked(LAUNCHES, EP_CACHE_DIR=str(folder)).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("a compiled kernel on disk is not trusted: ")
    assert "belongs to user 12345, not to root; remove it" in lines[0]
    assert lines[1].split() == compiled(files)
    # the files were replaced
    assert run_forked(LAUNCHES, EP_CACHE_DIR=str(folder)).split() == compiled([])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of this kind")
def test_nothing_is_read_or_written_below_a_folder_that_others_may_write(run_forked, kernels):
    """One of two kernels is in the folder; neither is loaded, and the other one is not written."""
    (of_relu,) = files_of(kernels, OF_RELU)
    os.chmod(kernels.parent, 0o777)
    before = set(kernels.rglob("*"))
    lines = run_forked(TWO_KERNELS, EP_CACHE_DIR=str(kernels)).splitlines()
    assert len(lines) == 2
    assert f"run 'chmod go-w {kernels.parent}'" in lines[0]
    assert lines[1].split() == ["2", "0"]
    assert of_relu in before
    assert set(kernels.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of this kind")
def test_what_is_made_for_kernels_is_private_under_any_umask(run_forked, tmp_path):
    run_forked("import os; os.umask(0)\n" + TWO_KERNELS, EP_CACHE_DIR=str(tmp_path / "cache"))
    modes = {path.stat().st_mode & 0o7777 for path in (tmp_path / "cache").rglob("*.kernel")}
    assert modes == {0o600}
    folders = [tmp_path / "cache", *(path for path in (tmp_path / "cache").rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o7777 for path in folders} == {0o700}


def _as_another_user(command, folder):
    environment = environment_of((), {"EP_CACHE_DIR": folder, "HOME": folder, "COLUMNS": "500"})
    command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", sys.executable, "-P", *command]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.ep_long
@needs_root
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv runs a command as another user")
def test_an_image_that_root_warmed(filled):
    """Another user reads it if root lets others read; until then, the commands report the refusal and go on."""
    with tempfile.TemporaryDirectory() as top:  # pytest's own folders are closed to other users
        os.chmod(top, 0o755)
        if _as_another_user(["-c", "import ep, numba"], top).returncode:
            pytest.skip(f"other users cannot import what is in {sys.prefix}")
        folder = os.path.join(top, "cache")
        shutil.copytree(filled, folder)
        closed = _as_another_user(["-W", "error", "-c", LAUNCHES], folder)
        assert closed.stdout.splitlines()[1:] == [f"{NUM_KERNELS} 0"], closed.stderr
        assert "Permission denied" in closed.stdout.splitlines()[0]
        for command, code in ((["-m", "ep", "cache", "info"], 1), (["-c", DOCTOR], 0)):
            done = _as_another_user(command, folder)
            assert done.returncode == code, done
            assert "cannot be read: " in done.stdout, done
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        opened = _as_another_user(["-W", "error", "-c", LAUNCHES], folder)
        assert opened.stdout.splitlines() == [f"0 {NUM_KERNELS}"], opened


@needs_root
def test_doctor_fails_what_others_can_have_written(copy):
    folder, files = copy
    os.chown(files[0], 12345, 12345)
    found = run(DOCTOR, EP_CACHE_DIR=str(folder))
    assert found.startswith(f"cpu kernels fail {files[0]} belongs to user 12345")
