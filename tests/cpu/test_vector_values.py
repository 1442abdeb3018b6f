"""Vectors: values of compiled code with several numbers of one type."""

import numpy as np
import pytest

from ep.common.loops import unrolled
from ep.cpu.compile import lowering
from ep.cpu.compile.direct import NOT_WRITTEN
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vector import (
    all_lanes,
    any_lane,
    bitcast,
    convert,
    elements,
    every,
    fma,
    joined,
    lanes_below,
    largest_lane,
    load,
    lower_half,
    mask,
    popcount,
    select,
    shuffle,
    shuffle_several,
    smallest,
    store,
    store_nontemporal,
    sum_in_any_order,
    upper_half,
    vector,
)
from ep.include.data_type import DataType


@pytest.fixture
def run(compiled, monkeypatch):
    """Return a function that compiles a function anew, from its syntax tree or by Numba alone, and calls it."""
    directly = lowering._directly

    def without_numba(*args):
        try:
            return directly(*args)
        except NOT_WRITTEN as error:
            raise AssertionError("the function is not written directly") from error

    if compiled.way == "directly":
        monkeypatch.setattr(lowering, "_directly", without_numba)

    def call(function, *arguments):
        """arguments: integers, or arrays whose addresses are passed."""
        words = [one if isinstance(one, int) else one.ctypes.data for one in arguments]
        return compiled(function, len(words))(*words)

    return call


def _reals(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kDouble, DataType.kUInt32], ids=lambda one: one.name)
def test_a_tile_of_a_product(run, data_type):
    rows, vectors, lanes = 3, 2, 4
    Row, Numbers = vector(data_type, lanes), elements(data_type)
    width = vectors * lanes

    def multiply(a, b, c, k):
        factors, sums = Numbers.at(a), Row.array_on_stack(rows * vectors)
        for number in unrolled(range(rows * vectors)):
            sums[number] = Row.zero()
        for index in range(k):
            row_of_b = Numbers.at(b)[index * width :]
            for row in unrolled(range(rows)):
                factor = Row.splat(factors[row * k + index])
                for number in unrolled(range(vectors)):
                    place = row * vectors + number
                    sums[place] = fma(factor, load(Row, row_of_b, number * lanes), sums[place])
        for row in unrolled(range(rows)):
            for number in unrolled(range(vectors)):
                used = lanes_below(width - 1, lanes, number * lanes)
                store(c, row * width + number * lanes, sums[row * vectors + number], mask=used)
        return 0

    a, b = (np.round(9 * _reals(*shape)).astype(data_type.dtype) for shape in ((rows, 5), (5, width)))
    c = np.full((rows, width), 77, data_type.dtype)
    run(multiply, a, b, c, 5)
    assert c[:, :-1].tolist() == (a @ b)[:, :-1].tolist()
    assert (c[:, -1] == 77).all()


def test_operators_compute_on_each_lane(run):
    Row = vector(DataType.kDouble, 4)

    def compute(x, y, out):
        a, b = load(Row, x), load(Row, y)
        results = Row.at(out)
        results[0] = a + b * 2
        results[1] = 1 - a / b
        results[2] = -a
        results[3] = select((a < b) | (b >= 1.5), a, 0)
        results[4] = select(~(a != b) & (a > -1e9), b, a)
        results[5] = select(a[2] > 0, a, b)
        return results == out

    x, y, out = _reals(4, dtype=np.float64), _reals(2, 2, dtype=np.float64).ravel(), np.zeros((6, 4))
    y[1] = x[1]
    assert run(compute, x, y, out) == 1
    expected = [x + y * 2, 1 - x / y, -x, np.where((x < y) | (y >= 1.5), x, 0), np.where(x == y, y, x)]
    assert out.tolist() == [row.tolist() for row in (*expected, x if x[2] > 0 else y)]


@pytest.mark.parametrize("data_type", [DataType.kInt8, DataType.kUInt32, DataType.kInt64], ids=lambda one: one.name)
def test_integers_wrap(run, data_type):
    Row = vector(data_type, 8)

    def compute(x, y, out):
        a, b = load(Row, x), load(Row, y)
        results = Row.at(out)
        results[0] = a + b
        results[1] = a * b - 1
        results[2] = (a & b) | (a ^ 5)
        results[3] = a >> 3
        results[4] = (a << 2) + ~b
        results[5] = select(a < b, a, -b)
        results[6] = fma(a, b, a)
        return 0

    every_bit = np.random.default_rng(1).integers(0, 256, (2, 8 * data_type.itemsize), np.uint8)
    x, y = every_bit.view(data_type.dtype)
    out = np.zeros((7, 8), data_type.dtype)
    run(compute, x, y, out)
    expected = [x + y, x * y - 1, (x & y) | (x ^ 5), x >> 3, (x << 2) + ~y, np.where(x < y, x, -y), x * y + x]
    assert out.tolist() == [row.tolist() for row in expected]


@pytest.mark.parametrize("data_type", [DataType.kFloat16, DataType.kBFloat16], ids=lambda one: one.name)
def test_short_types_are_widened_and_narrowed(run, data_type):
    Short, Row, Wide, Numbers = (
        *(vector(one, 8) for one in (data_type, DataType.kFloat, DataType.kDouble)),
        elements(data_type),
    )

    def compute(x, short, wide, single):
        number = convert(Row, load(Short, x)) * 1.5
        store(short, 0, convert(Short, number))
        store(wide, 0, convert(Wide, number))
        singles = Numbers.at(single)
        singles[1] = Numbers.at(x)[3] * 1.5
        return 0

    x = _reals(8).astype(data_type.dtype)
    short, single, wide = np.zeros(8, data_type.dtype), np.zeros(2, data_type.dtype), np.zeros(8)
    run(compute, x, short, wide, single)
    exact = x.astype(np.float32) * np.float32(1.5)
    assert wide.tolist() == exact.tolist()
    assert short.tolist() == exact.astype(data_type.dtype).tolist()
    assert single.tolist() == [0, short[3]]


def test_integers_and_reals_are_converted(run):
    Bytes, Words, Reals, Bits = (
        vector(one, 4) for one in (DataType.kInt8, DataType.kInt64, DataType.kFloat, DataType.kUInt32)
    )

    def compute(x, words, reals, bits, back):
        read = load(Bytes, x)
        store(words, 0, convert(Words, read))
        store(reals, 0, convert(Reals, read))
        store(bits, 0, bitcast(Bits, convert(Reals, read)))
        store(back, 0, convert(Bytes, convert(Words, read) * 3))
        return 0

    x = np.array([-128, -1, 0, 127], np.int8)
    words, reals, bits, back = np.zeros(4, np.int64), np.zeros(4, np.float32), np.zeros(4, np.uint32), np.zeros_like(x)
    run(compute, x, words, reals, bits, back)
    assert words.tolist() == reals.tolist() == x.tolist()
    assert bits.tolist() == reals.view(np.uint32).tolist()
    assert back.tolist() == (x * np.int8(3)).tolist()


def test_lanes_change_their_places(run):
    Row = vector(DataType.kInt32, 4)
    turned, both, thirds, some = shuffle(3, 2, 1, 0), shuffle(1, 4), every(3, 1, 4), shuffle_several(3, 11, 2, 2, 5)

    def compute(x, out):
        a, b, c = load(Row, x), load(Row, x, 4), load(Row, x, 8)
        store(out, 0, turned(a))
        store(out, 4, both(a, b))
        store(out, 6, upper_half(a))
        store(out, 8, joined(lower_half(b), upper_half(c)))
        store(out, 12, thirds(a, b, c))
        store(out, 16, some(a, b, c))
        return sum_in_any_order(a) + 1000 * a[1]

    x, out = np.arange(20, 32, dtype=np.int32), np.zeros(20, np.int32)
    assert run(compute, x, out) == x[:4].sum() + 1000 * x[1]
    parts = x[:4][::-1], x[[1, 4]], x[2:4], x[4:6], x[10:12], x[1::3], x[[11, 2, 2, 5]]
    assert out.tolist() == np.concatenate(parts).tolist()


def test_masked_lanes_are_neither_read_nor_written(run):
    Row, Masks = vector(DataType.kUInt16, 8), mask(8)

    def compute(x, out, count):
        used = lanes_below(count, 8)
        masks = Masks.array_on_stack(2)
        masks[0], masks[1] = used, all_lanes(8)
        total = Row.zero()
        for number in unrolled(range(2)):
            read = masks[number]
            read &= used
            total += load(Row, x, 0, read)
            store(out, 8 * number, total, masks[number])
        return 0 + smallest(total | 9)

    page = np.zeros(4096 // 2, np.uint16)
    page[:5], out = (7, 8, 9, 10, 11), np.full(16, 99, np.uint16)
    assert run(compute, page, out, 3) == 9
    assert out.tolist() == [7, 8, 9, *[99] * 5, 14, 16, 18, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("lanes", [4, 16])
def test_lanes_of_masks_are_counted(run, lanes):
    Row = vector(DataType.kFloat, lanes)

    def compute(x, bound):
        below = load(Row, x) < 0.5
        used = lanes_below(bound, lanes)
        return popcount(below & used) + 100 * any_lane(below & used) + 1000 * any_lane(used)

    x = np.arange(lanes, 0, -1, np.float32) % 3
    for bound in range(lanes + 1):
        found = np.count_nonzero(x[:bound] < 0.5)
        assert run(compute, x, bound) == found + 100 * (found > 0) + 1000 * (bound > 0)


@pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kDouble], ids=lambda one: one.name)
def test_the_largest_lane(run, data_type):
    Row, Numbers = vector(data_type, 8), elements(data_type)

    def compute(x, out):
        results = Numbers.at(out)
        results[0] = largest_lane(load(Row, x))
        results[1] = largest_lane(-load(Row, x))
        results[2] = largest_lane(select(results[0] > 0, np.nan, load(Row, x)))
        return 0

    x, out = _reals(8, dtype=data_type.dtype), np.zeros(3, data_type.dtype)
    run(compute, x, out)
    assert out[:2].tolist() == [x.max(), -x.min()]
    assert np.isnan(out[2])


def test_functions_take_and_return_vectors_and_arrays_of_them(run):
    Row = vector(DataType.kFloat, 16)

    @jit
    def larger(x, y):
        return select(x > y, x, y), lanes_below(7, 16)

    @jit
    def add_all(rows: object, count, to):
        sums = Row.at(rows)
        for number in range(count):
            store_nontemporal(to, 16 * number, sums[number] + 1)

    def compute(x, out):
        rows = Row.array_on_stack(3)
        found, used = larger(load(Row, x), load(Row, x, 16))
        rows[0] = found
        rows[1] = select(used, found, 5)
        rows[2] = Row.splat(out != 0)
        add_all(rows, 3, out)
        return 0

    x, memory = _reals(32), np.zeros(64 + 48, np.float32)
    begin = -memory.ctypes.data % 64 // 4
    out = memory[begin : begin + 48]
    run(compute, x, out)
    found = np.maximum(x[:16], x[16:])
    expected = [found + 1, np.where(np.arange(16) < 7, found, 5) + 1, np.full(16, 2, np.float32)]
    assert out.reshape(3, 16).tolist() == [row.tolist() for row in expected]


def test_loops_over_known_values_are_written_out(run):
    Row = vector(DataType.kDouble, 2)
    takers = (0, 1, shuffle(1, 0)), (2, 0, shuffle(0, 0))

    def compute(x, out, count):
        a, found = load(Row, x), 0
        for place, number, take in unrolled(takers):
            if number:
                found += 100
            store(out, place, take(a))
        for number in unrolled((2, 3)):
            for turn in range(count):
                if turn == number:
                    break
                found += 1
        return found

    x, out = np.array([3.0, 4.0]), np.zeros(4)
    assert run(compute, x, out, 3) == 105
    assert out.tolist() == [4, 3, 3, 3]


def test_augmented_assignments(run):
    Row = vector(DataType.kInt64, 4)

    def compute(src, dst):
        x, y = load(Row, src), load(Row, src, 4)
        x += y
        x *= 3
        x -= y
        x <<= 2
        x >>= 1
        x ^= y
        x |= 8
        x &= 127
        store(dst, 0, x)
        return 0

    Reals = vector(DataType.kDouble, 4)

    def divide(src, dst):
        x = load(Reals, src)
        x /= 3
        store(dst, 0, x)
        return 0

    numbers, found = np.arange(-3, 5), np.zeros(4, np.int64)
    run(compute, numbers, found)
    x, y = numbers[:4], numbers[4:]
    assert found.tolist() == ((((((x + y) * 3 - y) << 2 >> 1) ^ y) | 8) & 127).tolist()
    reals, quotients = _reals(4, dtype=np.float64), np.zeros(4)
    run(divide, reals, quotients)
    assert quotients.tolist() == (reals / 3).tolist()
