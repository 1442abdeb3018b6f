"""The machine's integer instructions, compared with Python's integers and NumPy."""

import numpy as np
import pytest

from tests.cuda.ptx_kernels import apply, integers, pairs

DTYPES = {name: np.dtype(dtype) for name, dtype in (
    ("s16", np.int16), ("u16", np.uint16), ("s32", np.int32), ("u32", np.uint32), ("s64", np.int64), ("u64", np.uint64),
)}  # fmt: skip
BITS = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def wrapped(numbers, dtype):
    """Return Python integers modulo 2^n."""
    dtype = np.dtype(dtype)
    unsigned = [int(number) % 2 ** (8 * dtype.itemsize) for number in numbers]
    return np.array(unsigned, f"u{dtype.itemsize}").view(dtype)


def truncated(a, b):
    """Return a / b, rounded towards zero; -1, which has all bits set, if b is 0."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rest(a, b):
    return a - b * truncated(a, b) if b else a


BINARY = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul.lo": lambda a, b, bits: a * b,
    "mul.hi": lambda a, b, bits: a * b >> bits,
    "div": lambda a, b, bits: truncated(a, b),
    "rem": lambda a, b, bits: rest(a, b),
    "min": lambda a, b, bits: min(a, b),
    "max": lambda a, b, bits: max(a, b),
}


@pytest.mark.parametrize("name", DTYPES)
def test_binary(name):
    dtype = DTYPES[name]
    a, b = pairs(integers(dtype))
    text = "\n".join(f"{operation}.{name} %d{place}, %s0, %s1;" for place, operation in enumerate(BINARY))
    got = apply(text, [a, b], [dtype] * len(BINARY))
    for result, (operation, reference) in zip(got, BINARY.items(), strict=True):
        want = [reference(x, y, 8 * dtype.itemsize) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        np.testing.assert_array_equal(result, wrapped(want, dtype), operation)


@pytest.mark.parametrize("name", ["s16", "s32", "s64"])
def test_unary(name):
    dtype = DTYPES[name]
    a = integers(dtype)
    got = apply(f"abs.{name} %d0, %s0;\nneg.{name} %d1, %s0;", [a], [dtype] * 2)
    np.testing.assert_array_equal(got[0], wrapped(map(abs, a.tolist()), dtype))
    np.testing.assert_array_equal(got[1], wrapped([-x for x in a.tolist()], dtype))


@pytest.mark.parametrize(
    ("name", "wide"), [("s16", np.int32), ("u16", np.uint32), ("s32", np.int64), ("u32", np.uint64)]
)
def test_wide_products(name, wide):
    a, b = pairs(integers(DTYPES[name]))
    c = np.resize(integers(wide), a.size)
    text = f"mul.wide.{name} %d0, %s0, %s1;\nmad.wide.{name} %d1, %s0, %s1, %s2;"
    product, total = apply(text, [a, b, c], [wide] * 2)
    exact = [x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(product, wrapped(exact, wide))
    np.testing.assert_array_equal(total, wrapped([x + y for x, y in zip(exact, c.tolist(), strict=True)], wide))


@pytest.mark.parametrize("name", ["u32", "s64"])
def test_products_and_sums(name):
    dtype = DTYPES[name]
    a, b = pairs(integers(dtype))
    c = np.resize(integers(dtype)[::-1], a.size)
    got = apply(f"mad.lo.{name} %d0, %s0, %s1, %s2;\nmad.hi.{name} %d1, %s0, %s1, %s2;", [a, b, c], [dtype] * 2)
    numbers = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    bits = 8 * dtype.itemsize
    np.testing.assert_array_equal(got[0], wrapped([x * y + z for x, y, z in numbers], dtype))
    np.testing.assert_array_equal(got[1], wrapped([(x * y >> bits) + z for x, y, z in numbers], dtype))


def test_carries():
    """Sums, differences and products of 64 bits, computed in 32-bit halves."""
    values = integers(np.uint64)
    a, b = pairs(values)
    halves = [
        part for whole in (a, b) for part in ((whole & 0xFFFFFFFF).astype(np.uint32), (whole >> 32).astype(np.uint32))
    ]
    text = """
        add.cc.u32 %d0, %s0, %s2;
        addc.cc.u32 %d1, %s1, %s3;
        addc.u32 %d2, 0, 0;
        sub.cc.u32 %d3, %s0, %s2;
        subc.cc.u32 %d4, %s1, %s3;
        subc.u32 %d5, 0, 0;
        mul.lo.u32 %d6, %s0, %s2;
        mul.hi.u32 %d7, %s0, %s2;
        mad.lo.cc.u32 %d7, %s0, %s3, %d7;
        madc.hi.u32 %d8, %s0, %s3, 0;
    """
    got = [part.astype(object) for part in apply(text, halves, [np.uint32] * 9)]
    x, y = a.astype(object), b.astype(object)
    np.testing.assert_array_equal(got[0] + (got[1] << 32) + (got[2] << 64), x + y)
    np.testing.assert_array_equal(got[3] + (got[4] << 32) + (got[5] << 64), (x - y) % 2**96)
    np.testing.assert_array_equal(got[6] + (got[7] << 32) + (got[8] << 64), (x % 2**32) * y)


def test_saturation():
    a, b = pairs(integers(np.int32))
    got = apply("add.sat.s32 %d0, %s0, %s1;\nsub.sat.s32 %d1, %s0, %s1;", [a, b], [np.int32] * 2)
    wide = a.astype(np.int64), b.astype(np.int64)
    np.testing.assert_array_equal(got[0], np.clip(wide[0] + wide[1], -(2**31), 2**31 - 1))
    np.testing.assert_array_equal(got[1], np.clip(wide[0] - wide[1], -(2**31), 2**31 - 1))


@pytest.mark.parametrize("width", BITS)
def test_shifts_past_the_width_too(width):
    values = integers(BITS[width])
    counts = np.array([0, 1, 2, width - 1, width, width + 1, 63, 64, 255, 2**31, 2**32 - 1], np.uint32)
    a, n = (part.ravel() for part in np.meshgrid(values, counts))
    text = f"shl.b{width} %d0, %s0, %s1;\nshr.u{width} %d1, %s0, %s1;\nshr.s{width} %d2, %s0, %s1;"
    signed = np.dtype(f"i{width // 8}")
    left, right, arithmetic = apply(text, [a, n.astype(np.uint32)], [a.dtype, a.dtype, signed])
    cases = list(zip(a.tolist(), a.view(signed).tolist(), n.tolist(), strict=True))
    capped = [(u, s, min(count, width)) for u, s, count in cases]
    np.testing.assert_array_equal(left, wrapped([u << count for u, s, count in capped], a.dtype))
    np.testing.assert_array_equal(right, wrapped([u >> count for u, s, count in capped], a.dtype))
    np.testing.assert_array_equal(arithmetic, wrapped([s >> count for u, s, count in capped], signed))


@pytest.mark.parametrize("past", ["clamp", "wrap"])
def test_funnel_shifts(past):
    low, high = pairs(integers(np.uint32))
    count = np.resize(np.array([0, 1, 7, 31, 32, 33, 40, 64, 2**31], np.uint32), low.size)
    text = f"shf.l.{past}.b32 %d0, %s0, %s1, %s2;\nshf.r.{past}.b32 %d1, %s0, %s1, %s2;"
    left, right = apply(text, [low, high, count], [np.uint32] * 2)
    for index in range(low.size):
        both = int(high[index]) << 32 | int(low[index])
        n = int(count[index]) % 32 if past == "wrap" else min(int(count[index]), 32)
        assert (left[index], right[index]) == ((both << n) >> 32 & 0xFFFFFFFF, both >> n & 0xFFFFFFFF)


def field(value, begin, size, width, signed):
    """Return `size` bits from `begin` on; bits beyond the number are its sign."""
    bits = [
        value >> min(begin + place, width - 1) & 1 if signed else value >> (begin + place) & 1 for place in range(size)
    ]
    number = sum(bit << place for place, bit in enumerate(bits))
    return number - (bits[-1] << size) if signed and bits else number


@pytest.mark.parametrize("width", [32, 64])
def test_fields(width):
    unsigned, signed = BITS[width], np.dtype(f"i{width // 8}")
    begins = np.array([0, 1, 5, width - 1, width, 200, 255 + 256], np.uint32)
    sizes = np.array([0, 1, 8, width - 1, width, 255, 3 + 512], np.uint32)
    a, begin, size = (part.ravel() for part in np.meshgrid(integers(unsigned), begins, sizes))
    b = np.resize(integers(unsigned)[::-1], a.size)
    text = f"""
        bfe.u{width} %d0, %s0, %s2, %s3;
        bfe.s{width} %d1, %s0, %s2, %s3;
        bfi.b{width} %d2, %s0, %s1, %s2, %s3;
    """
    got = apply(text, [a, b, begin.astype(np.uint32), size.astype(np.uint32)], [unsigned, signed, unsigned])
    want: list[list[int]] = [[], [], []]
    for x, y, first, length in zip(a.tolist(), b.tolist(), (begin % 256).tolist(), (size % 256).tolist(), strict=True):
        want[0].append(field(x, first, length, width, signed=False))
        want[1].append(field(x, first, length, width, signed=True))
        mask = (2**length - 1) << first & (2**width - 1)
        want[2].append(y & ~mask | x << first & mask)
    for result, numbers in zip(got, want, strict=True):
        np.testing.assert_array_equal(result, wrapped(numbers, result.dtype))


@pytest.mark.parametrize("width", [32, 64])
def test_counts_of_bits(width):
    a = integers(BITS[width])
    text = f"""
        clz.b{width} %d0, %s0;
        popc.b{width} %d1, %s0;
        brev.b{width} %d2, %s0;
        bfind.u{width} %d3, %s0;
        bfind.s{width} %d4, %s0;
        bfind.shiftamt.u{width} %d5, %s0;
    """
    got = apply(text, [a], [np.uint32, np.uint32, BITS[width], np.uint32, np.uint32, np.uint32])
    none = 2**32 - 1
    for index, x in enumerate(a.tolist()):
        signed = x ^ (2**width - 1) if x >> (width - 1) else x
        want = [
            width - x.bit_length(),
            x.bit_count(),
            int(f"{x:0{width}b}"[::-1], 2),
            (x.bit_length() - 1) % 2**32,
            (signed.bit_length() - 1) % 2**32,
            width - x.bit_length() if x else none,
        ]
        assert [int(result[index]) for result in got] == want


def test_logic():
    a, b = pairs(integers(np.uint32))
    c = np.resize(integers(np.uint32)[::-1], a.size)
    text = """
        and.b32 %d0, %s0, %s1;
        or.b32 %d1, %s0, %s1;
        xor.b32 %d2, %s0, %s1;
        not.b32 %d3, %s0;
        lop3.b32 %d4, %s0, %s1, %s2, 0xE8;
        lop3.b32 %d5, %s0, %s1, %s2, 0x1B;
    """
    got = apply(text, [a, b, c], [np.uint32] * 6)
    majority = (a & b) | (a & c) | (b & c)
    table = [0x1B >> n & 1 for n in range(8)]
    by_bits = sum(
        np.array(table, np.uint32)[((a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1).astype(int)] << np.uint32(k)
        for k in range(32)
    )
    for result, want in zip(got, (a & b, a | b, a ^ b, ~a, majority, by_bits), strict=True):
        np.testing.assert_array_equal(result, want)


def test_bytes_are_permuted():
    a, b = pairs(integers(np.uint32))
    selector = np.resize(
        np.array([0x3210, 0x7654, 0x0123, 0x8888, 0xFEDC, 0x5410, 0xBA98, 0xFFFF0000], np.uint32), a.size
    )
    (got,) = apply("prmt.b32 %d0, %s0, %s1, %s2;", [a, b, selector], [np.uint32])
    for index in range(a.size):
        parts = [int(a[index]) >> 8 * k & 255 for k in range(4)] + [int(b[index]) >> 8 * k & 255 for k in range(4)]
        want = 0
        for lane in range(4):
            nibble = int(selector[index]) >> 4 * lane & 15
            byte = parts[nibble & 7]
            want |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * lane
        assert got[index] == want


def test_moves_pack_and_unpack():
    a, b = pairs(integers(np.uint32))
    text = """
        mov.b64 %rd1, {%s0, %s1};
        mov.u64 %d0, %rd1;
        mov.b64 {%d1, _}, %rd1;
        mov.b64 {_, %d2}, %rd1;
        mov.b32 {%h1, %h2}, %s0;
        mov.b32 %d3, {%h2, %h1};
        mov.b32 %f1, %s0;
        mov.b32 %d4, %f1;
    """
    whole, low, high, swapped, same = apply(text, [a, b], [np.uint64, *[np.uint32] * 4])
    np.testing.assert_array_equal(whole, b.astype(np.uint64) << np.uint64(32) | a)
    np.testing.assert_array_equal((low, high, same), (a, b, a))
    np.testing.assert_array_equal(swapped, a >> 16 | a << 16)


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
UNSIGNED = {"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}


@pytest.mark.parametrize("name", DTYPES)
def test_comparisons(name):
    a, b = pairs(integers(DTYPES[name]))
    known = COMPARISONS | (UNSIGNED if name.startswith("u") else {})
    text = "\n".join(
        f"setp.{how}.{name} %p1, %s0, %s1;\nselp.u32 %d{place}, 1, 0, %p1;" for place, how in enumerate(known)
    )
    for got, compare in zip(apply(text, [a, b], [np.uint32] * len(known)), known.values(), strict=True):
        np.testing.assert_array_equal(got, compare(a, b))


def test_predicates_combine():
    a, b = pairs(integers(np.int32))
    text = """
        setp.lt.s32 %p1, %s0, 0;
        setp.gt.and.s32 %p2|%p3, %s1, 1, %p1;
        setp.gt.or.s32 %p4, %s1, 1, !%p1;
        setp.gt.xor.s32 %p5, %s1, 1, %p1;
        not.pred %p6, %p2;
        and.pred %p7, %p4, %p5;
        selp.s32 %d0, 1, 0, %p2;
        selp.s32 %d1, 1, 0, %p3;
        selp.s32 %d2, 1, 0, %p4;
        selp.s32 %d3, 1, 0, %p5;
        selp.s32 %d4, 1, 0, %p6;
        selp.s32 %d5, 1, 0, %p7;
    """
    got = apply(text, [a, b], [np.int32] * 6)
    negative, more = a < 0, b > 1
    either, one = more | ~negative, more ^ negative
    wanted = (more & negative, ~more & negative, either, one, ~(more & negative), either & one)
    for result, want in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(result, want)
