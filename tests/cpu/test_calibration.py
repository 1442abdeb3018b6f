"""The size from which launches use non-temporal stores. It is measured, kept on disk, and never changes results."""

import json
import shutil

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.machine import calibration
from ep.cpu.machine.calibration import KINDS, NEVER, Calibration, StoredCalibration, everywhere
from ep.include.primitive import (
    BroadcastElementwiseBinaryFactory,
    ElementwiseUnaryFactory,
    ExpandFactory,
    GatherFactory,
)

MADE_UP = [everywhere(0), everywhere(NEVER), everywhere(2**20), Calibration((NEVER, 0, 2**20), (0, 2**20, NEVER), 4096)]
NO_CALIBRATIONS = [
    *(b"", b"{", b"[]", b"{}", b"\xff", b"1", b"null", b'"lines"', b"NaN", b"\0" * 99, b"9" * 10_000),
    *(b"[" * 100_000, b'{"lines":' * 100_000, b"[" * 100_000 + b"]" * 100_000),
]
"""Contents of files, of any form."""
COUNTS = [2**16 - 1, 2**17, 2**17 + 3, 2**18]  # on both sides of 1 MiB, read and written


@pytest.fixture
def cpu():
    """Yield the device with two threads; restore its settings afterwards."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = device.GetNumThreads()
    device.SetNumThreads(2)
    yield device
    device.force_calibration(None)
    device.SetNumThreads(threads)


def launches(stream, rng):
    """Yield the bytes that launches of each engine write: in cache lines, in tiles, and in gathered rows."""
    relu, exp = (
        RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, op, np.float32, np.float32)
        for op in (UnaryOp.kRelu, UnaryOp.kExp)
    )
    add = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, BinaryOp.kAdd, np.int8, np.int8, 2)
    expand = RequirePrimitive(ExpandFactory, DeviceType.kCPU, np.int16, 2)
    gather = RequirePrimitive(GatherFactory, DeviceType.kCPU, np.float32, np.int32)
    for count in COUNTS:
        x, out = rng.normal(size=count).astype(np.float32), np.empty(count, np.float32)
        for primitive in (relu, exp):
            primitive.Launch(stream, x, out, count)
            yield out.tobytes()
        rows, column, row = (
            count // 64,
            rng.integers(-99, 99, count // 64, np.int8),
            rng.integers(-99, 99, 1024, np.int8),
        )
        sums = np.empty((rows, 1024), np.int8)
        add.Launch(stream, (rows, 1), column, (1024,), row, sums.reshape(-1))
        assert (sums == column[:, None] + row).all()
        yield sums.tobytes()
        repeated = np.empty((count // 7, 21), np.int16)
        expand.Launch(stream, (1, 21), np.arange(21, dtype=np.int16), repeated.shape, repeated.reshape(-1))
        yield repeated.tobytes()
        found = np.empty((count // 32, 32), np.float32)
        gather.Launch(
            stream, 1, count // 32, 32, x, count // 32, np.arange(count // 32, dtype=np.int32)[::-1].copy(), found
        )
        yield found.tobytes()


def test_results_have_the_same_bits(cpu):
    """Test the calibrations of several imaginary processors."""
    expected = None
    for made_up in MADE_UP:
        cpu.force_calibration(made_up)
        found = list(launches(cpu.CreateStream(), np.random.default_rng(5)))
        expected = expected or found
        assert found == expected


@pytest.mark.parametrize("made_up", MADE_UP)
def test_what_is_kept_is_read_again(made_up):
    kept = StoredCalibration(made_up, (0.5, 1.25, 2.0), 3)
    assert calibration.unpacked(calibration.packed(kept), 3) == kept
    assert calibration.unpacked(calibration.packed(kept._replace(times=())), 3).times == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": [1, 2]},
        {"lines": [1, 2, 3, 4]},
        {"lines": None},
        {"tiles": [1, 2, -1]},
        {"tiles": [1, 2, True]},
        {"tiles": [1, 2.0, 3]},
        {"tiles": [1, 2, 2**63]},
        {"tiles": "123"},
        {"ahead": 2**40},
        {"ahead": [0]},
        {"again": -1},
        {"again": 1000},
        {"times": [0.0]},
        {"times": ["1"]},
        {"times": [[1.0]]},
        {"times": 1.0},
        {"times": [1.0, 1.0]},
        {"times": [1.0] * 1000},
        {"times": [5e-324]},
        {"times": [1e300]},
        {"times": [float("nan")]},
        {"times": [float("inf")]},
        {"times": [-1.0]},
        {"times": {"1": 1.0}},
        {"times": None},
        {"lines": {"1": 1, "2": 2, "3": 3}},
        {"lines": "123"},
        {"lines": [[1], [2], [3]]},
        {"tiles": [1, 2, 10**400]},
        {"tiles": []},
        {"ahead": 1.0},
        {"ahead": None},
        {"again": False},
        {"again": 1e400},
        {"more": 1},
    ],
)
def test_what_makes_no_sense_is_ignored(changes):
    fields = everywhere(2**20)._asdict() | {"times": [1.0], "again": 0}
    assert calibration.unpacked(json.dumps(fields).encode(), 1) is not None
    fields |= changes
    assert calibration.unpacked(json.dumps(fields).encode(), 1) is None


@pytest.mark.parametrize("missing", ["lines", "tiles", "ahead", "times", "again"])
def test_what_lacks_a_field_is_ignored(missing):
    fields = everywhere(2**20)._asdict() | {"times": [], "again": 0}
    del fields[missing]
    assert calibration.unpacked(json.dumps(fields).encode(), 1) is None


@pytest.mark.parametrize("contents", NO_CALIBRATIONS, ids=range(len(NO_CALIBRATIONS)))
def test_what_is_no_calibration_is_ignored(contents):
    assert calibration.unpacked(contents, 1) is None


def test_every_field_may_be_anything():
    """Replace each field of a calibration, and elements of a field, by values of any type."""
    fields = everywhere(2**20)._asdict() | {"times": [1.0], "again": 0}
    odd = [None, True, -1, 2**64, 1.5, -0.0, "", "1", [], [[]], {}, {"a": 1}, [None] * 3, [1, 2], [1.0] * 9]
    for name in fields:
        for value in odd:
            for changed in (value, [value], [value, *([1] * (KINDS - 1))]):
                found = calibration.unpacked(json.dumps(fields | {name: changed}).encode(), 1)
                assert found is None or found == calibration.unpacked(calibration.packed(found), 1)


def test_the_name_has_the_processor_and_the_threads():
    one, two = calibration.name(1), calibration.name(2)
    assert one != two
    assert one.startswith("calibration.")
    assert not set(one + two) & set("/\\: ")


LAUNCH = """
import sys
import numpy as np
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.machine import calibration
from ep.cpu.machine.calibration import StoredCalibration, everywhere
from ep.include.primitive import ElementwiseUnaryFactory

device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
device.SetNumThreads(2)
stream = device.CreateStream()
relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kRelu, "int8", "int8")
def launch(count):
    x = np.arange(count, dtype=np.int8)
    y = np.empty_like(x)
    relu.Launch(stream, x, y, count)
    assert (y == np.maximum(x, 0)).all()
def file_name(threads=2):
    from ep.cpu.lines import probe
    from ep.cpu.machine.kernel_cache import CACHE
    return CACHE, CACHE.file_name(calibration.name(threads), calibration.VERSION, probe.measure)
def kept(threads=2):
    from ep.cpu.lines import probe
    cache, name = file_name(threads)
    return cache.read(name, lambda contents: calibration.unpacked(contents, probe.NUM_TIMES))
def large(threads=2):
    return calibration.least_size(threads) // 2 + 1000
"""


@pytest.fixture(scope="module")
def compiled(launched, tmp_path_factory):
    """Return a folder for kernels, which are compiled once for all tests of this file."""
    return shutil.copytree(launched, tmp_path_factory.mktemp("cache"), dirs_exist_ok=True)


@pytest.fixture
def folder(compiled):
    """Return the folder of `compiled`, without a calibration."""
    for kept in compiled.rglob("calibration.*"):
        kept.unlink()
    return str(compiled)


def test_only_a_large_launch_measures(run_forked, folder):
    """The calibration is kept, each number of threads has its own, and `Prepare` only compiles."""
    code = """
relu.Prepare()
launch(10**5)
assert device.calibration() is None
launch(large())
found = device.calibration()
assert found is not None
device.SetNumThreads(1)
assert device.calibration() is None
device.SetNumThreads(2)
assert device.calibration() == found
assert kept().calibration == found
"""
    run_forked(LAUNCH + code, EP_CACHE_DIR=folder)


def test_a_few_processes_measure(run_forked, folder):
    """Each process keeps the minimum of its times and of earlier ones, so that a busy moment has no effect."""
    code = """
cache, name = file_name()
before = kept()
launch(large())
after = kept()
if before is None:
    assert after.again > 0
    cache.write(name, calibration.packed(after._replace(again=1)))
elif before.again:
    assert after.again == 0
    assert len(after.times) == len(before.times)
    assert all(new <= old for new, old in zip(after.times, before.times))
else:
    assert after == before
assert device.calibration() == after.calibration
"""
    for _ in range(3):
        run_forked(LAUNCH + code, EP_CACHE_DIR=folder)


def test_what_was_kept_decides(run_forked, folder):
    """Test several calibrations in one process: each number of threads has its own."""
    code = f"""
for threads, size in enumerate({[made_up.lines[0] for made_up in MADE_UP[:3]]}, 2):
    device.SetNumThreads(threads)
    cache, name = file_name(threads)
    cache.write(name, calibration.packed(StoredCalibration(everywhere(size))))
    assert device.calibration() is None
    launch(large(threads))
    assert device.calibration() == everywhere(size)
"""
    run_forked(LAUNCH + code, EP_CACHE_DIR=folder)


OF_FEWER_TIMES = """{"lines": [1, 1, 1], "tiles": [1, 1, 1], "ahead": 0, "again": 2, "times": [1.0]}"""


def test_what_is_damaged_is_measured_again(run_forked, folder):
    """Test files of no fields, of great depth, of fewer times and of no form, each for another number of threads."""
    code = f"""
damages = [
    lambda: cache.write(name, b"{{}}"),
    lambda: cache.write(name, b"[" * 10**6),
    lambda: cache.write(name, b'{OF_FEWER_TIMES}'),
    lambda: (cache.folder() / name).write_bytes(b"ep-kernel-1"),
]
for threads, damage in enumerate(damages, 2):
    device.SetNumThreads(threads)
    cache, name = file_name(threads)
    cache.write(name, calibration.packed(StoredCalibration(everywhere(3))))
    damage()
    launch(large(threads))
    assert device.calibration() not in (None, everywhere(3)), threads
    assert device.calibration() == kept(threads).calibration, threads
"""
    run_forked(LAUNCH + code, EP_CACHE_DIR=folder)


def test_where_it_is_better_from_is_decided_by_all_sizes():
    """Test thresholds between two sizes, and processors on which non-temporal stores are always, or never, faster."""
    from ep.cpu.lines.probe import _first

    assert _first([1.5, 1.3, 0.7], 1, 2**20, 7) == int(2**20 * 2**0.5)
    assert _first([1.5, 0.5, 0.7], 1, 2**20, 7) == int(2**20 * 0.5**0.5)
    assert _first([0.6, 0.6, 0.6], 1, 2**20, 7) == 7
    assert _first([1.5, 1.5, 1.5], 1, 2**20, 7) == NEVER
    assert _first([0.4, 0.9, 0.7], 1, 2**20, 7) == 7
    assert _first([0.9, 1.2, 1.2], 1, 2**20, 7) == NEVER


def test_caches_are_left_for_a_clear_gain():
    """Launches that only write, or may fit the caches, use non-temporal stores only if these are clearly faster."""
    from ep.cpu.lines.probe import _first

    assert _first([0.9, 0.9, 0.9], 1, 2**20, 7) == int(2**20 * 2**0.5)
    assert _first([0.9, 0.9, 0.9], 0, 2**20, 7) == NEVER
    assert _first([0.9, 0.9, 0.6], 0, 2**20, 7) == int(2**20 * 2**0.5)


def test_each_kind_and_way_is_decided_by_its_own_times():
    """Test times in which only the last kind is faster with non-temporal stores, in lines, from some size on."""
    from ep.cpu.lines.probe import _SIZES, decided

    kind, better = (1.0, 2.0, 3.0), (1.0, 0.5, 3.0)
    later = [*kind, *kind, *better] * (len(_SIZES) - 1)
    found = decided([1.0, 1.1, *kind, *kind, *kind, *later], 2**20, 7)
    assert found == Calibration((NEVER, NEVER, int(2**20 * 0.5**0.5)), (NEVER,) * KINDS, 0)
    assert decided([1.0, 0.5, *kind, *kind, *kind, *later], 2**20, 7).ahead > 0
    assert decided([1.0, 0.99, *kind, *kind, *kind, *later], 2**20, 7).ahead == 0
