"""Matmul: every type and transpose, every size, alpha and beta, and invalid arguments."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import BlasTransposeType, MatmulFactory
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key, those_keys
from ep.testing.products import held, try_dims, unread, written
from ep.testing.references.matmul import TRANSPOSES, check, matrices, product, stored
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import other_types, sized

D = DataType
N, T = BlasTransposeType
FLOAT = (D.kFloat,)
INTEGERS = [(D.kUInt8,), (D.kInt16,), (D.kInt32,), (D.kUInt64,)]
SOME = [FLOAT, (D.kBFloat16,), (D.kComplex128,), *INTEGERS]

SIZES = [(1, 1, 1), (7, 1, 13), (1, 13, 7), (1, 1, 1009), (16, 16, 16), (61, 67, 71), (129, 257, 131), (509, 521, 37)]
SIZES += [(1, 2053, 67), (2053, 1, 67), (1031, 3, 509), (5, 1031, 103), (257, 1, 1), (1, 257, 1)]


def launch(
    device: DeviceUnderTest,
    data_type: DataType,
    transposes: Any,
    a: Array,
    b: Array,
    c: Array,
    alpha: Any = 1,
    beta: Any = 0,
    sizes: Any = None,
) -> Any:
    """Launch, and return c; sizes: m, n and k."""
    m, n, k = sizes or (*c.shape, a.shape[0 if transposes[0] is T else 1])
    primitive, operands = device.require(MatmulFactory, data_type, *transposes), [device.buffer(a), device.buffer(b)]
    return written(device, c, lambda memory: primitive.Launch(device.stream, m, n, k, alpha, *operands, beta, memory))


def try_sizes(
    device: DeviceUnderTest, rng: Rng, data_type: DataType, transposes: Any, sizes: Any, alpha: Any = 1, beta: Any = 0
) -> None:
    try_dims(launch, device, rng, data_type, transposes, ((), (), ()), sizes, alpha, beta)


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=lambda pair: "".join(one.name for one in pair))
@every_key(MatmulFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, transposes: Any) -> None:
    for sizes in ((7, 5, 3), (19, 31, 23), (1, 67, 41), (67, 1, 41)):
        try_sizes(device, rng, key[0], transposes, sizes)
        try_sizes(device, rng, key[0], transposes, sizes, alpha=-2, beta=0.5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@some_key(MatmulFactory, *SOME)
def test_every_size(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: Any) -> None:
    for transposes in TRANSPOSES:
        try_sizes(device, rng, key[0], transposes, sizes)


@pytest.mark.parametrize(("alpha", "beta"), [*itertools.product([0, 1, -0.75], [0, 1, 0.5])])
@every_key(MatmulFactory)
def test_numbers(device: DeviceUnderTest, rng: Rng, key: FlatKey, alpha: Any, beta: Any) -> None:
    try_sizes(device, rng, key[0], (N, T), (17, 13, 11), alpha, beta)


@those_keys(MatmulFactory, (D.kComplex64,), (D.kComplex128,))
def test_complex_numbers(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    for transposes in TRANSPOSES:
        try_sizes(device, rng, key[0], transposes, (5, 7, 11), alpha=1 - 2j, beta=0.5j)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 4, 5), (3, 1, 5), (33, 65, 17)], ids=str)
@every_key(MatmulFactory)
def test_what_a_zero_multiplies_is_not_read(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: Any) -> None:
    (data_type,), (m, n, k) = key, sizes
    a, b, c = (matrices(rng, data_type, *dims) for dims in ((m, k), (k, n), (m, n)))
    nothing = unread(a)
    got = launch(device, data_type, (N, N), nothing, b, c, alpha=0, beta=2)
    check(got, *product(0, nothing, b, 2, c), 1)
    got = launch(device, data_type, (N, N), nothing, b, unread(c), alpha=0, beta=0)
    assert not got.any()
    got = launch(device, data_type, (N, N), a, b, unread(c), alpha=1, beta=0)
    check(got, *product(1, a, b, 0, c), k)


@some_key(MatmulFactory, FLOAT)
def test_nan_and_infinity_spread(device: DeviceUnderTest, key: FlatKey) -> None:
    (data_type,) = key
    a, b, c = (np.ones(dims, data_type.dtype) for dims in ((3, 4), (4, 5), (3, 5)))
    a[1, 2], b[0, 3] = np.nan, np.inf
    got = launch(device, data_type, (N, N), a, b, c, alpha=1, beta=1)
    want = a.astype(np.float64) @ b.astype(np.float64) + 1
    np.testing.assert_array_equal(got.astype(np.float64), want)
    got = launch(device, data_type, (N, N), a, b, np.full_like(c, np.nan), alpha=1, beta=1)
    assert np.isnan(got).all()


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (0, 0, 0)], ids=str)
@some_key(MatmulFactory, *SOME)
def test_nothing_to_write(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: Any) -> None:
    try_sizes(device, rng, key[0], (N, N), sizes)


@every_key(MatmulFactory)
def test_products_of_no_terms_scale_c(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    c = matrices(rng, data_type, 5, 7)
    a, b = np.zeros((5, 0), data_type.dtype), np.zeros((0, 7), data_type.dtype)
    for beta in (0, 1, held(data_type, 0.5)):
        check(launch(device, data_type, (N, N), a, b, c, 1, beta), *product(0, a, b, beta, c), 1)
    assert not launch(device, data_type, (N, N), a, b, unread(c), 1, 0).any()


@pytest.mark.parametrize("extreme", ["min", "max"])
@those_keys(MatmulFactory, *((one,) for one in D if one.dtype.kind in "iu"))
def test_extremes_of_integers(device: DeviceUnderTest, key: FlatKey, extreme: Any) -> None:
    """Sums of the largest products, which have more bits than any type; alpha and beta are multiplied modulo, too."""
    (data_type,) = key
    number = getattr(np.iinfo(data_type.dtype), extreme)
    for m, n, k in ((19, 53, 1031), (1, 9, 67), (9, 1, 67), (3, 5, 257), (5, 2, 300)):
        for transposes in TRANSPOSES:
            shapes = map(stored, ((m, k), (k, n)), transposes)
            a, b = (np.full(shape, number, data_type.dtype) for shape in shapes)
            c = np.full((m, n), number, data_type.dtype)
            want = (number * k * number * number + number * number) % 2 ** (8 * data_type.itemsize)
            got = launch(device, data_type, transposes, a, b, c, number, number)
            assert (got.view(f"u{data_type.itemsize}") == want).all()


@those_keys(MatmulFactory, (D.kFloat16,), (D.kBFloat16,))
def test_narrow_floats_are_summed_in_float32(device: DeviceUnderTest, key: FlatKey) -> None:
    """In the type itself, a sum of ones would stop growing where adding 1 rounds to the same number."""
    (data_type,) = key
    for m, n in ((1, 1), (1, 40), (40, 1), (33, 35)):
        a, b = (np.ones(dims, data_type.dtype) for dims in ((m, 4096), (4096, n)))
        c = np.full((m, n), 4096, data_type.dtype)
        assert (launch(device, data_type, (N, N), a, b, c, 1, 0) == 4096).all()
        assert (launch(device, data_type, (N, N), a, b, c, 0.5, 2) == 10240).all()


@some_key(MatmulFactory, FLOAT)
def test_float32_is_not_rounded_to_fewer_digits(device: DeviceUnderTest, key: FlatKey) -> None:
    (data_type,) = key
    a = np.full((33, 64), 1 + 2.0**-12, data_type.dtype)
    got = launch(device, data_type, (N, N), a, np.ones((64, 35), data_type.dtype), np.zeros((33, 35), data_type.dtype))
    assert (got == 64 * (1 + 2.0**-12)).all()


@some_key(MatmulFactory, FLOAT)
def test_tensor_float_32_may_be_allowed(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    a, b = matrices(rng, data_type, 17, 31), matrices(rng, data_type, 31, 19)
    c = device.filled(17 * 19, data_type)
    primitive = device.require(MatmulFactory, *key, N, N, allow_tf32=True)
    primitive.Launch(device.stream, 17, 19, 31, 1, device.buffer(a), device.buffer(b), 0, c)
    want, size = product(1, a, b, 0, np.zeros((17, 19), data_type.dtype))
    assert (abs(device.array(c, (17, 19)) - want) <= 2.0**-9 * size).all()
    assert "allow_tf32=True" in repr(primitive)
    with pytest.raises(TypeError, match="allow_tf32 must be True or False"):
        device.require(MatmulFactory, *key, N, N, allow_tf32=1)


@some_key(MatmulFactory, *SOME)
def test_operands_that_begin_anywhere(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Test operands that begin at any element, and are larger than needed."""
    (data_type,), (m, n, k) = key, (37, 41, 43)
    for transposes in TRANSPOSES:
        a, b, c = matrices(rng, data_type, m * k), matrices(rng, data_type, k * n), matrices(rng, data_type, m * n)
        buffers = []
        for array, first in ((a, 1), (b, 3), (c, 5)):
            memory = device.filled(array.size + 8, data_type)
            device.write(memory[first : first + array.size], array)
            buffers.append(memory[first:])
        device.require(MatmulFactory, *key, *transposes).Launch(device.stream, m, n, k, 2, *buffers[:2], 1, buffers[2])
        shapes = stored((m, k), transposes[0]), stored((k, n), transposes[1])
        want = product(2, a.reshape(shapes[0]), b.reshape(shapes[1]), 1, c.reshape(m, n), transposes)
        check(device.array(buffers[2])[: m * n].reshape(m, n), *want, k)


@some_key(MatmulFactory, FLOAT)
def test_one_array_as_both_operands(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    a, c = matrices(rng, data_type, 23, 23), np.zeros((23, 23), data_type.dtype)
    memory, out = device.buffer(a), device.filled(23 * 23, data_type)
    device.require(MatmulFactory, *key, N, T).Launch(device.stream, 23, 23, 23, 1, memory, memory, 0, out)
    check(device.array(out, (23, 23)), *product(1, a, a, 0, c, (N, T)), 23)


@some_key(MatmulFactory, *SOME)
def test_results_are_the_same_every_time(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    m, n, k, times = (sized(device, *sizes) for sizes in ((301, 131), (307, 139), (203, 41), (5, 1)))
    a, b, c = matrices(rng, data_type, m, k), matrices(rng, data_type, k, n), np.zeros((m, n), data_type.dtype)
    first = launch(device, data_type, (N, N), a, b, c)
    assert all(launch(device, data_type, (N, N), a, b, c).tobytes() == first.tobytes() for _ in range(times))


@every_key(MatmulFactory)
@few_examples
@given(
    sizes=st.tuples(*[st.integers(0, 70)] * 3),
    transposes=st.sampled_from(TRANSPOSES),
    numbers=st.tuples(*[st.sampled_from([0, 1, -1, 0.5])] * 2),
)
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, sizes: Any, transposes: Any, numbers: Any) -> None:
    try_sizes(device, np.random.default_rng(sum(sizes)), key[0], transposes, sizes, *numbers)


@some_key(MatmulFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, more, output = MatmulFactory, (N, N), "c"
    sizes, numbers = ("m", "n", "k"), ("alpha", "beta")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        a, b = (device.buffer(np.ones(count, key[0].dtype)) for count in (8, 12))
        return {"m": 2, "n": 3, "k": 4, "alpha": 1, "a": a, "b": b, "beta": 0, "c": device.filled(6, *key)}

    def test_dtypes_also_without_terms(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        for wrong in other_types(*key):
            refused(TypeError, f"a has dtype {wrong.dtype}", k=0, a=device.filled(8, wrong))

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(40, key[0].dtype))
        refused(ValueError, "c overlaps a", a=memory[:8], c=memory[7:13])
        refused(ValueError, "c overlaps b", b=memory[5:17], c=memory[:6])
        square = {"m": 2, "n": 4, "k": 4, "b": device.buffer(np.ones(16, key[0].dtype))}
        refused(ValueError, "c is the memory of a", **square, a=memory[:8], c=memory[:8])


@some_key(MatmulFactory, FLOAT)
def test_transposes_are_checked(device: DeviceUnderTest, key: FlatKey) -> None:
    for wrong in (True, 1, "T", None):
        with pytest.raises(TypeError, match="transpose_b must be a BlasTransposeType"):
            device.require(MatmulFactory, *key, N, wrong)
