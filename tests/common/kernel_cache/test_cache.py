"""The kernel cache that devices use: the files that it keeps, its messages, and the errors that it handles."""

import logging
import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from ep.common.kernel_cache import KernelCache, ownership, usage
from ep.common.kernel_cache.sources import PACKAGE
from tests.subprocesses import environment_of


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path / "cache"))
    return KernelCache("some", ("numpy",), ("common",))


def name(number, kernel="add.kFloat-sm_90"):
    return f"{kernel}-{number:016x}.kernel"


def test_what_is_written_is_read(cache):
    assert cache.read(name(1), bytes) is None
    cache.write(name(1), b"code")
    assert cache.read(name(1), bytes) == b"code"
    assert usage(cache.folder())[0] == 1
    assert cache.read(None, bytes) is None
    cache.write(None, b"code")
    assert usage(cache.folder())[0] == 1


def test_a_file_of_another_folder_is_not_read(cache, tmp_path, monkeypatch):
    cache.write(name(1), b"code")
    other = KernelCache("some", ("numpy", "pytest"), ("common",))
    other.write(name(2), b"other")
    os.replace(other.folder() / name(2), cache.folder() / name(2))
    assert cache.read(name(2), bytes) is None


def test_the_last_few_of_a_kernel_are_kept(cache):
    cache.write(name(99, "add.kFloat-sm_80"), b"")
    cache.write(name(99, "add.kFloat.kInt8-sm_90"), b"")
    for number in range(6):
        cache.write(name(number), bytes(number))
        os.utime(cache.folder() / name(number), ns=(0, 10**18 + number))
    left = sorted(os.listdir(cache.folder()))
    assert left == sorted(
        [name(99, "add.kFloat-sm_80"), name(99, "add.kFloat.kInt8-sm_90"), *(name(number) for number in range(2, 6))]
    )


KILLED = """
import os, signal, sys
from ep.common.kernel_cache import KernelCache
from ep.common.kernel_cache import ownership

replaced = os.replace
def stop(*args, **options):
    print("writing", flush=True)
    if sys.argv[1:] == ["killed"]:
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
    replaced(*args, **options)

os.replace = stop
KernelCache("some", ("numpy",), ("common",)).write("add-0000000000000001.kernel", b"code")
"""


def partial_files(cache):
    return sorted(cache.folder().glob("*.partial"))


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_what_killed_processes_have_left_is_removed(cache):
    command = [sys.executable, "-c", KILLED]
    environment = environment_of((), {})
    for _ in range(2):
        done = subprocess.run([*command, "killed"], env=environment, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.returncode) == ("writing\n", -signal.SIGKILL), done.stderr
    assert len(partial_files(cache)) == 2
    assert cache.on_disk().unfinished == 2
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as living:
        assert living.stdout.readline() == "writing\n"
        cache.write(name(2), b"code")  # they may have been begun just now
        assert len(partial_files(cache)) == 3
        for file in partial_files(cache):
            os.utime(file, ns=(0, 10**18))
        KernelCache("some", ("numpy",), ("common",)).write(name(3), b"code")
        (left,) = partial_files(cache)
        assert f".{living.pid}." in left.name
        living.stdin.close()
        assert living.wait(60) == 0
    assert not partial_files(cache)
    assert cache.read("add-0000000000000001.kernel", bytes) == b"code"


def test_a_folder_that_cannot_be_written_is_said_once(cache, tmp_path, caplog):
    (tmp_path / "cache").write_text("")
    for _ in range(3):
        assert cache.read(name(1), bytes) is None
        cache.write(name(1), b"code")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("ep", logging.WARNING)
    assert record.getMessage().startswith("compiled kernels cannot be kept for the next process: ")
    assert "Not a directory" in cache.why_unwritable()
    assert "Not a directory" in cache.why_unreadable()
    assert cache.folders() == []
    assert usage(cache.folder()) == (0, 0, 0)


def test_a_cache_that_works_has_nothing_to_say(cache):
    for _ in range(2):
        assert cache.why_untrusted() is None
        assert cache.why_unreadable() is None
        assert cache.why_unwritable() is None
    assert os.listdir(cache.folder()) == []
    cache.write(name(1), b"code")
    assert cache.why_untrusted() is None
    assert cache.folders() == [cache.folder()]
    assert cache.clear() > 0
    assert cache.folders() == []


@pytest.mark.skipif(not ownership.CHECKED, reason="Windows has no modes of this kind")
def test_what_others_may_write_is_named(cache, tmp_path, caplog):
    cache.write(name(1), b"code")
    os.chmod(cache.folder() / name(1), 0o666)
    assert str(cache.folder() / name(1)) in cache.why_untrusted()
    os.chmod(tmp_path, 0o777)
    assert cache.why_untrusted().startswith(f"{tmp_path}, above ")
    assert cache.why_unwritable() == cache.why_untrusted()
    assert cache.read(name(1), bytes) is None
    assert cache.read(name(1), bytes) is None
    (record,) = caplog.records
    assert cache.why_untrusted() in record.getMessage()


def test_without_sources_in_a_folder_nothing_is_kept(cache, monkeypatch, caplog):
    monkeypatch.setattr(PACKAGE, "states", {})
    caplog.set_level(logging.INFO, "ep")
    assert cache.file_name("add.kFloat", "sm_90", usage) is None
    assert cache.digest() is None
    assert cache.why_unwritable() == "the sources of ep are not files in a folder"
    assert [record.getMessage() for record in caplog.records] == [f"{cache.why_unwritable()}: kernels are not kept"]
    assert not os.path.exists(cache.folder())


def test_kernels_with_functions_of_other_packages_are_not_kept(cache, caplog):
    caplog.set_level(logging.INFO, "ep")
    assert cache.file_name("add.kFloat", "sm_90", (usage, partial(usage, 1))) is not None
    for function in (name, partial(usage, name), lambda: usage):
        assert cache.file_name("add.kFloat", "sm_90", function) is None
    (record,) = caplog.records
    assert record.getMessage() == "kernels with functions of other packages are not kept"
