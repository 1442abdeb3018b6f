"""The format of a cached file: after any change, the contents do not agree with the digest."""

import random

import pytest

from ep.common.kernel_cache.container import pack, unpack
from ep.testing.fixtures import BASE_SEED

NAME, CONTENTS = "cpu-0123/gather.kInt32.5-abc-def.kernel", bytes(range(256)) * 5


@pytest.mark.parametrize("contents", [b"", b"\0", CONTENTS])
def test_what_was_packed_is_unpacked(contents):
    assert unpack(NAME, pack(NAME, contents)) == contents


def test_each_flipped_bit_is_noticed():
    packed = pack(NAME, CONTENTS[:64])
    for position in range(8 * len(packed)):
        damaged = bytearray(packed)
        damaged[position // 8] ^= 1 << position % 8
        assert unpack(NAME, bytes(damaged)) is None, position


def test_each_shorter_file_and_longer_ones_are_noticed():
    packed = pack(NAME, CONTENTS[:64])
    for size in range(len(packed)):
        assert unpack(NAME, packed[:size]) is None, size
    assert unpack(NAME, packed + b"\0") is None
    assert unpack(NAME, packed + packed) is None


def test_changed_bytes_are_noticed():
    generator = random.Random(BASE_SEED)
    packed = pack(NAME, CONTENTS)
    for _ in range(500):
        damaged = bytearray(packed)
        begin, size = generator.randrange(len(packed)), generator.choice((1, 64))
        damaged[begin : begin + size] = generator.randbytes(len(damaged[begin : begin + size]))
        expected = CONTENTS if damaged == packed else None
        assert unpack(NAME, bytes(damaged)) == expected, (BASE_SEED, begin, size)


@pytest.mark.parametrize("other", ["", NAME[:-1], NAME + "x", NAME.replace("cpu-0123", "cpu-4567")])
def test_a_file_for_another_name_is_noticed(other):
    assert unpack(other, pack(NAME, CONTENTS)) is None


def test_name_and_contents_do_not_run_together():
    assert unpack("ab", pack("a", b"bc")) is None
    assert unpack("a\n", pack("a", b"\nb")) is None
