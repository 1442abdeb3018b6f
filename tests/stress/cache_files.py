"""Damaged files in the cache of compiled kernels: whatever they contain, launches give the right results."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from ep import DeviceType
from ep.include.primitive import ElementwiseUnary, Gather
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.calls import few_entries, random_call
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = False, 360, ("cpu",)

CHILD_SECONDS = 150
OUTPUT = 3000  # reported characters of a child's output


def trial(rng, tag):
    folder = Path(tempfile.mkdtemp(prefix="ep-stress-cache-"))
    shutil.copytree(undamaged(tag), folder, dirs_exist_ok=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    told = [damage(rng, pick(rng, files), files) for _ in range(pick(rng, (1, 1, 1, 3)))]
    try:
        for _ in range(2):  # the second launch finds the files that the first one repaired
            launch_with(folder, tag)
    except AssertionError as error:
        error.add_note(f"after {'; '.join(told)}\nthe damaged files are kept in {folder}")
        raise
    shutil.rmtree(folder)


def damage(rng, path, files):
    """Damage one file; return a description of the damage."""
    contents = bytearray(path.read_bytes())
    way = pick(rng, (flip_bit, flip_byte, overwrite, cut, empty, swap))
    done = way(rng, path, contents, files)
    return f"{way.__name__} of {path.name}: {done}"


def flip_bit(rng, path, contents, files):
    place, bit = int(rng.integers(len(contents))), int(rng.integers(8))
    contents[place] ^= 1 << bit
    path.write_bytes(contents)
    return f"bit {bit} of byte {place}"


def flip_byte(rng, path, contents, files):
    place = int(rng.integers(len(contents)))
    contents[place] ^= int(rng.integers(1, 256))
    path.write_bytes(contents)
    return f"byte {place}"


def overwrite(rng, path, contents, files):
    place = int(rng.integers(len(contents)))
    contents[place : place + 64] = rng.bytes(len(contents[place : place + 64]))
    path.write_bytes(contents)
    return f"64 bytes from {place}"


def cut(rng, path, contents, files):
    length = int(rng.integers(len(contents)))
    path.write_bytes(contents[:length] + (bytes(len(contents) - length) if chance(rng, 0.3) else b""))
    return f"after {length} bytes"


def empty(rng, path, contents, files):
    path.write_bytes(b"")
    return "now of no bytes"


def swap(rng, path, contents, files):
    other = pick(rng, files)
    path.write_bytes(other.read_bytes())
    return f"now {other.name}"


@cache
def undamaged(tag) -> Path:
    """Return a cache with the kernels of a few keys, made once for the trials of a process."""
    folder = Path(tempfile.mkdtemp(prefix="ep-stress-undamaged-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    launch_with(folder, tag)
    return folder


def launch_with(folder, tag):
    """Launch in a new process with its cache in `folder`; raise AssertionError if that fails."""
    code = f"from tests.stress.cache_files import launch_all; launch_all({tag!r})"
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    environment = {**os.environ, "EP_CACHE_DIR": str(folder)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=CHILD_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"launches hang for {CHILD_SECONDS} s") from error
    if done.returncode:
        raise AssertionError(f"launches end with {done.returncode}: {done.stderr[-OUTPUT:].decode(errors='replace')}")


def launch_all(tag):
    """Launch one key that moves elements and one that computes, with several dims."""
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    for entry in few_entries(device.type):
        if entry.interface not in (Gather, ElementwiseUnary):  # more keys would take long to compile
            continue
        rng = np.random.default_rng(0)
        for _ in range(4):
            call = random_call(rng, device, entry, most=60_000)
            call.run(device, rng)
            call.agrees(device, call.make(device))
