"""BatchMatmul: every type and transpose, any number of matrices, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import BatchMatmulFactory, BlasTransposeType
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key
from ep.testing.products import held, try_dims, unread, written
from ep.testing.references.matmul import TRANSPOSES, check, matrices, product
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch

D = DataType
N, T = BlasTransposeType
FLOAT = (D.kFloat,)
SOME = [FLOAT, (D.kFloat16,), (D.kComplex64,), (D.kInt8,), (D.kUInt32,)]

SIZES = [(1, 67, 71, 73), (2, 1, 5, 3), (3, 5, 1, 7), (7, 13, 11, 1), (101, 3, 5, 7), (1009, 1, 1, 2), (12, 16, 16, 16)]
SIZES += [(5, 127, 131, 31), (3, 523, 67, 41), (2, 1, 2053, 61)]


def launch(
    device: DeviceUnderTest,
    data_type: DataType,
    transposes: Any,
    a: Array,
    b: Array,
    c: Array,
    alpha: Any = 1,
    beta: Any = 0,
) -> Any:
    sizes = (*c.shape, a.shape[1 if transposes[0] is T else 2])
    primitive = device.require(BatchMatmulFactory, data_type, *transposes)
    operands = device.buffer(a), device.buffer(b)
    return written(device, c, lambda memory: primitive.Launch(device.stream, *sizes, alpha, *operands, beta, memory))


def try_sizes(
    device: DeviceUnderTest, rng: Rng, data_type: DataType, transposes: Any, sizes: Any, alpha: Any = 1, beta: Any = 0
) -> None:
    batch_size, *of_matrices = sizes
    try_dims(launch, device, rng, data_type, transposes, [(batch_size,)] * 3, of_matrices, alpha, beta)


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=lambda pair: "".join(one.name for one in pair))
@every_key(BatchMatmulFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, transposes: Any) -> None:
    for sizes in ((3, 7, 5, 11), (17, 1, 9, 4), (5, 9, 1, 4)):
        try_sizes(device, rng, key[0], transposes, sizes)
        try_sizes(device, rng, key[0], transposes, sizes, alpha=-2, beta=0.5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@some_key(BatchMatmulFactory, *SOME)
def test_every_size(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: Any) -> None:
    for transposes in TRANSPOSES:
        try_sizes(device, rng, key[0], transposes, sizes, alpha=0.5, beta=1)


@pytest.mark.parametrize("sizes", [(0, 3, 4, 5), (3, 0, 4, 5), (3, 4, 0, 5), (0, 0, 0, 0)], ids=str)
@some_key(BatchMatmulFactory, *SOME)
def test_nothing_to_write(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: Any) -> None:
    try_sizes(device, rng, key[0], (N, N), sizes)


@every_key(BatchMatmulFactory)
def test_products_of_no_terms_scale_c(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    c = matrices(rng, data_type, 3, 5, 7)
    a, b = np.zeros((3, 5, 0), data_type.dtype), np.zeros((3, 0, 7), data_type.dtype)
    for beta in (0, held(data_type, 0.5)):
        check(launch(device, data_type, (N, N), a, b, c, 1, beta), *product(0, a, b, beta, c), 1)


@every_key(BatchMatmulFactory)
def test_what_a_zero_multiplies_is_not_read(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    a, b, c = (matrices(rng, data_type, *dims) for dims in ((3, 5, 11), (3, 11, 7), (3, 5, 7)))
    check(launch(device, data_type, (N, N), a, b, unread(c)), *product(1, a, b, 0, c), 11)
    beta = held(data_type, 0.5)
    got = launch(device, data_type, (N, N), unread(a), b, c, alpha=0, beta=beta)
    check(got, *product(0, a, b, beta, c), 1)


@every_key(BatchMatmulFactory)
@few_examples
@given(
    sizes=st.tuples(st.integers(0, 9), *[st.integers(0, 30)] * 3),
    transposes=st.sampled_from(TRANSPOSES),
    numbers=st.tuples(*[st.sampled_from([0, 1, -1, 0.5])] * 2),
)
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, sizes: Any, transposes: Any, numbers: Any) -> None:
    try_sizes(device, np.random.default_rng(sum(sizes)), key[0], transposes, sizes, *numbers)


@some_key(BatchMatmulFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, more, output = BatchMatmulFactory, (N, N), "c"
    sizes, numbers = ("batch_size", "m", "n", "k"), ("alpha", "beta")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        a, b = (device.buffer(np.ones(count, key[0].dtype)) for count in (16, 24))
        sizes = dict(zip(self.sizes, (2, 2, 3, 4), strict=True))
        return {**sizes, "alpha": 1, "a": a, "b": b, "beta": 0, "c": device.filled(12, *key)}

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(40, key[0].dtype))
        refused(ValueError, "c overlaps a", a=memory[:16], c=memory[15:27])
