"""`ep cache`: information, warming, clearing."""

import os
import subprocess
import sys
import tempfile

import pytest

from ep.cli import cache, kernel_caches, warm
from ep.cpu.kernel_cache import CACHE
from ep.include.data_type import DataType
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive import (
    BinaryOp,
    Entry,
    ExpandFactory,
    Key,
    UnaryOp,
    register_primitive_factory,
    registered,
)
from tests.include.conftest import toy as toy


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_kernels_for_cuda_are_shown_and_cleared(ep, folder):
    for name in ("cuda-0123456789abcdef", "cuda-fedcba9876543210"):
        (folder / name).mkdir()
        (folder / name / "a.cubin").write_bytes(bytes(1000))
    assert "for CUDA        2 files, 2.0 kB" in ep("cache", "info").out
    assert " and 2 files for CUDA from " in ep("cache", "clear").out
    assert not list(folder.glob("cuda-*"))


def test_info_of_an_empty_cache(ep, folder):
    done = ep("cache", "info")
    assert done.code == 0
    assert f"{folder}/cpu-" in done.out
    assert "0 files, 0 bytes" in done.out
    assert done.out.splitlines()[-1].split() == ["other", "versions", "none"]


def test_info_and_clear(ep, folder):
    CACHE.write("a.kernel", bytes(1500))
    (folder / "cpu-other").mkdir()
    (folder / "cpu-other" / "b.kernel").write_bytes(bytes(70))
    (folder / "mine.txt").write_text("not a kernel")
    out = ep("cache", "info").out
    assert "1 file, 1.5 kB" in out
    assert "1 folder, 70 bytes" in out
    done = ep("cache", "clear")
    assert done == (0, f"removed 1 file and 1 folder of other versions from {folder}: 1.6 kB freed\n", "")
    assert os.listdir(folder) == ["mine.txt"]
    assert ep("cache", "clear") == (0, f"removed 0 files from {folder}: 0 bytes freed\n", "")


def test_clear_that_fails(ep, folder, monkeypatch):
    def refuse():
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(kernel_caches, "clear", refuse)
    done = ep("cache", "clear")
    assert done.code == 1
    assert done.err == "ep cache clear: error: the cache cannot be cleared: [Errno 13] Permission denied\n"


def test_warm_in_processes(folder):
    # in a process of its own, as a user has it: spawned processes import what that process ran
    command = [sys.executable, "-W", "error", "-m", "ep", "cache", "warm", "--jobs", "2", "--dtype", "float32"]
    command += ["--op", "square", "--op", "relu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "preparing 2 keys with 2 processes"
    assert lines[-1].startswith("2 ready, 0 failed, in ")
    names = {name.split("-")[0] for name in os.listdir(CACHE.folder())}
    assert names >= {f"elementwise_unary.{op}.kFloat.kFloat" for op in ("kRelu", "kSquare")}


def test_warm_reports_failures(ep, folder, monkeypatch):
    def warm_all_but_one(entries, jobs):
        yield len(entries), [("this key", "RuntimeError: it cannot be compiled")]

    monkeypatch.setattr(cache, "warm", warm_all_but_one)
    done = ep("cache", "warm", "--primitive", "Expand")
    assert done.code == 1
    assert done.err == "ep cache warm: this key: RuntimeError: it cannot be compiled\n"
    assert "15 ready, 1 failed" in done.out


def test_warm_of_nothing(ep, folder):
    done = ep("cache", "warm", "--primitive", "Expand", "--op", "relu")
    assert done == (1, "", "ep cache warm: nothing is registered that fits\n")


def test_warm_for_an_absent_device(ep, folder, toy):
    class ToyExpandFactory(ExpandFactory):
        keys = (Key(None, (DataType.kFloat,)),)

        def Make(self, request):
            raise AssertionError("never made")

    register_primitive_factory(toy, ExpandFactory)(ToyExpandFactory)
    done = ep("cache", "warm", "--device", "toy")
    assert done == (
        1,
        "",
        "ep cache warm: error: nothing was compiled: there is no toy device; 'ep devices' says why\n",
    )


@pytest.mark.parametrize("deep", [False, True], ids=["folder", "parent"])
def test_a_cache_that_cannot_be_read(ep, folder, deep):
    """A file is where a folder should be; `ep` says so, and goes on where it can."""
    place = folder if deep else CACHE.folder()
    if deep:
        place.rmdir()
    place.write_text("no folder")
    done = ep("cache", "info")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[0] == f"folder   {folder}/{CACHE.folder().name}"
    assert done.out.splitlines()[1] == f"kernels  unknown: {place} cannot be read: Not a directory"
    for command in ("clear", "warm"):
        done = ep("cache", command)
        assert done.code == 1
        assert (
            done.err
            == f"ep cache {command}: error: the cache cannot be used: {place} cannot be read: Not a directory\n"
        )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize("deep", [False, True], ids=["folder", "parent"])
def test_a_cache_that_the_user_may_not_read(deep):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom ep.cli.main import main\nimport ep.cli.cache\n"
        "from ep.cpu.kernel_cache import CACHE\n"
        "folder = CACHE.folder()\nfolder.mkdir(parents=True)\n(folder / 'a.kernel').write_bytes(b'')\n"
        "os.chmod(sys.argv[1], 0)\nos.setuid(65534)\nsys.exit(main(['cache', 'info']))"
    )
    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o755)
        place = os.path.join(parent, "cache")
        inner = os.path.join(place, CACHE.folder().name)
        closed = place if deep else inner
        command = [sys.executable, "-W", "error", "-c", code, closed]
        done = subprocess.run(
            command, env={**os.environ, "EP_CACHE_DIR": place}, capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "")
    assert f"kernels  unknown: {closed} cannot be read: Permission denied\n" in done.stdout


def test_every_key_makes_a_primitive():
    for entry in registered():
        if not DeviceManagerRegistry.GetDeviceCount(entry.device_type):
            continue  # NewPrimitive returns None
        primitive = warm.make(entry)
        assert primitive is not None
        assert primitive.request.interface is entry.interface
        assert primitive.request.op is entry.op
        assert primitive.request.dtypes in (None, entry.dtypes)


def test_keys_that_share_kernels_stay_in_one_process():
    """Those of one op; Gather's and BatchGather's of one type of indices; all of Expand's."""
    entries = [entry for entry in registered() if entry.device_type is DeviceType.kCPU]
    chunks = warm._chunks(entries)
    assert sorted(map(str, entries)) == sorted(str(entry) for chunk in chunks for entry in chunk)
    sizes = [len(chunk) for chunk in chunks]
    assert sizes == sorted(sizes, reverse=True)
    shared = [{(e.op, e.dtypes[1:] if e.op is None else None) for e in chunk} for chunk in chunks]
    assert all(len(what) == 1 for what in shared)
    assert len(set.union(*shared)) == len(chunks)


def test_failures_name_the_key(monkeypatch):
    relu, add = (next(entry for entry in registered() if entry.op is op) for op in (UnaryOp.kRelu, BinaryOp.kAdd))
    unknown = Entry(relu.interface, relu.op, relu.dtypes, DeviceType.kCUDA)

    class Broken:
        def Prepare(self):
            raise RuntimeError("no\ncompiler")

    monkeypatch.setattr(warm, "make", lambda entry: None if entry is unknown else Broken())
    assert warm.prepare([add, unknown]) == [
        (str(add), "RuntimeError: no"),
        (str(unknown), "LookupError: NewPrimitive returns None"),
    ]
