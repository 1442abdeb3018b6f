"""Launches of more than 2^31 elements of one byte: no number of elements, and no offset, fits in 32 bits."""

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import (
    CastFactory,
    ConstantPadFactory,
    CopyNdFactory,
    FillFactory,
    MemcpyFactory,
    MemcpyKind,
    MemsetFactory,
    OneHotFactory,
    PermuteFactory,
    WhereFactory,
)

INNER, COLUMNS = 46_349, 46_337  # both prime
COUNT = INNER * COLUMNS
PADDED = (INNER + 1) * (COLUMNS + 2)
FREE_BYTES = 6 * 2**30
STALE = 0x5A

pytestmark = pytest.mark.ep_long

STREAM = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


def free_bytes():
    with open("/proc/meminfo") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))


@pytest.fixture(scope="module")
def memory():
    """Return memory to write to, and zeros, of which most pages are never written and take no physical memory."""
    try:
        free = free_bytes()
    except OSError:
        pytest.skip("how much memory is free is not known here")
    if free < FREE_BYTES:
        pytest.skip(f"{free >> 20} MiB of memory are free; this takes {FREE_BYTES >> 20}")
    return np.empty(PADDED, np.uint8), np.zeros(COUNT, np.uint8)


@pytest.fixture
def marked(memory):
    """Yield zeros with marks at a few places, including both ends, and these places."""
    src, rng = memory[1], np.random.default_rng(31)
    places = np.unique([0, 1, 2**31 - 1, 2**31, COUNT - 1, *rng.integers(0, COUNT, 500)])
    src[places] = rng.integers(1, 100, len(places))
    yield src, places
    src[places] = 0


@pytest.fixture
def out(memory):
    """Return memory with stale bytes."""
    memory[0][:] = STALE
    return memory[0]


def check(out, count, places, values):
    """Check that `out` has `values` at `places`, zeros elsewhere in the first `count` bytes, and stale bytes after."""
    assert count > 2**31
    assert (out[places] == values).all()
    assert np.count_nonzero(out[:count].view(np.bool_)) == np.count_nonzero(values)
    assert (out[count:] == STALE).all()


def make(factory, *key):
    return RequirePrimitive(factory, DeviceType.kCPU, *key)


def test_memcpy(out, marked):
    src, places = marked
    make(MemcpyFactory, MemcpyKind.kDtoD).Launch(STREAM, out[:COUNT], src, COUNT)
    check(out, COUNT, places, src[places])


def test_memset(out):
    make(MemsetFactory).Launch(STREAM, out[:COUNT], 0, COUNT)
    check(out, COUNT, [], [])


def test_fill(out):
    make(FillFactory, np.int8).Launch(STREAM, out[:COUNT].view(np.int8), 0, COUNT)
    check(out, COUNT, [], [])


def test_cast(out, marked):
    src, places = marked
    make(CastFactory, np.uint8, np.bool_).Launch(STREAM, src, out[:COUNT].view(np.bool_), COUNT)
    check(out, COUNT, places, np.ones(len(places)))


def test_where(out, marked):
    src, places = marked
    where = make(WhereFactory, np.uint8, np.int8, 1)
    where.Launch(STREAM, (COUNT,), src, (), 7, (), 0, out[:COUNT].view(np.int8))
    check(out, COUNT, places, np.full(len(places), 7))


def test_one_hot(out):
    indices = np.random.default_rng(5).integers(0, COLUMNS, INNER)
    one_hot = make(OneHotFactory, np.int64, np.uint8)
    one_hot.Launch(STREAM, indices, out[:COUNT], 9, 0, INNER, 0, COLUMNS)
    check(out, COUNT, np.arange(INNER) * COLUMNS + indices, np.full(INNER, 9))


@pytest.mark.parametrize("dims", [(INNER, COLUMNS), (COUNT // 3, 3), (3, COUNT // 3)])
def test_permute(out, marked, dims):
    src, places = marked
    count = dims[0] * dims[1]
    places = places[places < count]
    make(PermuteFactory, 2).Launch(STREAM, np.uint8, dims, src[:count], (1, 0), out[:count])
    row, column = divmod(places, dims[1])
    check(out, count, column * dims[0] + row, src[places])


def test_copy_nd(out, marked):
    src, places = marked
    make(CopyNdFactory, 2).Launch(
        STREAM, np.uint8, out[: COUNT - COLUMNS], (INNER - 1, COLUMNS), (0, 0), src, (INNER, COLUMNS), (1, 0),
        (INNER - 1, COLUMNS),
    )  # fmt: skip
    places = places[places >= COLUMNS]
    check(out, COUNT - COLUMNS, places - COLUMNS, src[places])


def test_constant_pad(out, marked):
    src, places = marked
    make(ConstantPadFactory, np.uint8).Launch(STREAM, (INNER, COLUMNS), src, (1, 1), (0, 1), 0, out)
    row, column = divmod(places, COLUMNS)
    check(out, PADDED, (row + 1) * (COLUMNS + 2) + column + 1, src[places])
