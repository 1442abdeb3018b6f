"""`ep cache`: information, warming, clearing."""

import os
import subprocess
import sys
import tempfile

import pytest

from ep.cli import cache, warm
from ep.common.native import compilers
from ep.cpu.device_manager import CpuDeviceManager
from ep.cpu.machine.kernel_cache import CACHE
from ep.cuda.compile.kernel_cache import CACHE as CUDA_CACHE
from ep.cuda.compile.kernel_cache import KERNELS
from ep.include import CompiledKernels, KernelsOnDisk
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


def folders():
    """Return the text about the folders of each device type."""
    return {"cpu": CACHE.folder(), "cuda": f"{CUDA_CACHE.folder()} and {KERNELS.folder()}"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path))
    return tmp_path


def lines_of(done):
    """Return the lines of the output, each with single blanks."""
    return [" ".join(line.split()) for line in done.out.splitlines()]


def test_info_of_an_empty_cache(ep, folder):
    done = ep("cache", "info")
    assert done.code == 0
    assert lines_of(done) == [f"{tag} 0 kernels, 0 bytes, in {named}" for tag, named in folders().items()]


def test_info_and_clear(ep, folder):
    CACHE.write("a.kernel", bytes(1500))
    (folder / "cpu-other").mkdir()
    (folder / "cpu-other" / "b.kernel").write_bytes(bytes(70))
    for name in ("cuda-0123456789abcdef", "cuda-fedcba9876543210"):
        (folder / name).mkdir()
        (folder / name / "a.cubin").write_bytes(bytes(1000))
    (folder / "mine.txt").write_text("not a kernel")
    (CACHE.folder() / "b.kernel.123.0123abcd.partial").write_bytes(bytes(50))
    assert lines_of(ep("cache", "info")) == [
        f"cpu 1 kernel, 1.6 kB, in {CACHE.folder()}",
        "cpu, not finished 1 file; a process that writes kernels removes those of ended processes",
        "cpu, other versions 1 folder, 70 bytes",
        f"cuda 0 kernels, 0 bytes, in {folders()['cuda']}",
        "cuda, other versions 2 folders, 2.0 kB",
    ]
    assert ep("cache", "clear") == (
        0,
        "cpu: removed 1 kernel, 1 file not finished and 1 folder of other versions, 1.7 kB freed\n"
        "cuda: removed 0 kernels and 2 folders of other versions, 2.0 kB freed\n",
        "",
    )
    assert os.listdir(folder) == ["mine.txt"]
    nothing = "cpu: removed 0 kernels, 0 bytes freed\ncuda: removed 0 kernels, 0 bytes freed\n"
    assert ep("cache", "clear") == (0, nothing, "")


class ToyKernels(CompiledKernels):
    """Kernels of a device of another package, in its own folder."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def on_disk(self):
        return KernelsOnDisk(self.folder, len(list(self.folder.iterdir())), 3)

    def why_unwritable(self):
        return None

    def clear(self):
        for path in self.folder.iterdir():
            path.unlink()
        return 3


@pytest.mark.ep_long
def test_a_device_of_another_package(ep, folder, toy, tmp_path, monkeypatch):
    monkeypatch.setattr("ep.cli.doctor._computes", lambda device: iter(()))  # compiles, as the cache is empty
    kernels = ToyKernels(tmp_path / "toy")

    class Manager(CpuDeviceManager):
        def device_type(self):
            return toy

        def compiled_kernels(self):
            return kernels

    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Manager)
    (kernels.folder / "a").write_text("abc")
    assert lines_of(ep("cache", "info"))[-1] == f"toy 1 kernel, 3 bytes, in {tmp_path}/toy"
    assert "toy kernels pass 1 kernel, 3 bytes, in " in " ".join(ep("doctor").out.split())
    assert lines_of(ep("cache", "clear"))[-1] == "toy: removed 1 kernel, 3 bytes freed"
    assert not list(kernels.folder.iterdir())


def test_clear_that_fails(ep, folder, monkeypatch):
    def refuse():
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(CACHE, "clear", refuse)
    done = ep("cache", "clear")
    assert done.code == 1
    assert done.err == "ep cache clear: error: the cpu kernels cannot be removed: [Errno 13] Permission denied\n"


@pytest.mark.ep_long
def test_warm_in_processes(folder):
    # in a separate process, as users run it: spawned processes import its main module
    command = [sys.executable, "-W", "error", "-m", "ep", "cache", "warm", "--jobs", "2", "--dtype", "float32"]
    command += ["--primitive", "ElementwiseUnary", "--op", "square", "--op", "relu"]
    for compiles in (True, False):  # the second time all kernels are there, which is also right
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        *first, outcome, kernels, measured = done.stdout.splitlines()
        assert first[0] == "preparing 2 keys with 2 processes"
        assert outcome.startswith("2 ready, 0 failed, in ")
        assert kernels.endswith(f" in {CACHE.folder()}")
        assert kernels.startswith("cpu: 0 new kernels, ") != compiles
        assert measured.startswith("cpu:0: non-temporal stores ")
    names = {name.split("-")[0] for name in os.listdir(CACHE.folder())}
    assert names >= {f"elementwise_unary.{op}.kFloat.kFloat" for op in ("kRelu", "kSquare")}


def test_warm_reports_failures(ep, folder, monkeypatch):
    def warm_all_but_one(entries, jobs, capability):
        yield len(entries), [("this key", "RuntimeError: it cannot be compiled")]

    monkeypatch.setattr(cache, "warm", warm_all_but_one)
    done = ep("cache", "warm", "--primitive", "Expand")
    assert done.code == 1
    assert done.err == "ep cache warm: this key: RuntimeError: it cannot be compiled\n"
    assert "15 ready, 1 failed" in done.out


def test_warm_of_keys_that_nobody_registers(ep, folder):
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
    """A file is in place of a folder; `ep` reports it, and continues if possible."""
    place = folder if deep else CACHE.folder()
    if deep:
        place.rmdir()
    place.write_text("no folder")
    done = ep("cache", "info")
    assert (done.code, done.err) == (1, "")
    assert lines_of(done)[0] == f"cpu unknown, in {CACHE.folder()}: {place} cannot be read: Not a directory"
    for command in ("clear", "warm"):
        done = ep("cache", command)
        assert done.code == 1
        message = f"the cpu kernels cannot be used: {place} cannot be read: Not a directory"
        assert done.err == f"ep cache {command}: error: {message}\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize("deep", [False, True], ids=["folder", "parent"])
def test_a_cache_that_the_user_may_not_read(deep):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom ep.cli.main import main\nimport ep.cli.cache\n"
        "from ep.cpu.machine.kernel_cache import CACHE\n"
        "folder = CACHE.folder()\nfolder.mkdir(parents=True)\n(folder / 'a.kernel').write_bytes(b'')\n"
        # imports all of Python that the command needs: it may be in a folder that others cannot read
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): main(['cache', 'info'])\n"
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
    assert f": {closed} cannot be read: Permission denied\n" in done.stdout


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
    """The keys of one op, the keys of Gather and BatchGather with one type of indices, and all keys of Expand."""
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


def test_no_kernels_are_prepared_that_would_not_be_kept(ep, monkeypatch):
    monkeypatch.setattr(compilers, "chosen", lambda: "EP_COMPILER is numba")
    done = ep("cache", "warm", "--primitive", "fill", "--device", "cpu")
    assert done.code == 1
    assert "nothing was compiled, since kernels would not be kept: EP_COMPILER is numba" in done.err
