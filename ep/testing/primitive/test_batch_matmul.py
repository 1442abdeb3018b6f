"""BatchMatmul: every type and transpose, any number of matrices, and invalid arguments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import BatchMatmulFactory, BlasTransposeType
from ep.testing.keys import every_key, registered_keys, some_key
from ep.testing.products import held, try_dims, unread, written
from ep.testing.references.matmul import TRANSPOSES, check, matrices, product
from ep.testing.refused_arguments import OfAnyLaunch

D = DataType
N, T = BlasTransposeType
FLOAT = (D.kFloat,)
SOME = [FLOAT, (D.kFloat16,), (D.kComplex64,), (D.kInt8,), (D.kUInt32,)]

SIZES = [(1, 67, 71, 73), (2, 1, 5, 3), (3, 5, 1, 7), (7, 13, 11, 1), (101, 3, 5, 7), (1009, 1, 1, 2), (12, 16, 16, 16)]
SIZES += [(5, 127, 131, 31), (3, 523, 67, 41), (2, 1, 2053, 61)]


def launch(device, data_type, transposes, a, b, c, alpha=1, beta=0):
    sizes = (*c.shape, a.shape[1 if transposes[0] is T else 2])
    primitive = device.require(BatchMatmulFactory, data_type, *transposes)
    operands = device.buffer(a), device.buffer(b)
    return written(device, c, lambda memory: primitive.Launch(device.stream, *sizes, alpha, *operands, beta, memory))


def try_sizes(device, rng, data_type, transposes, sizes, alpha=1, beta=0):
    batch_size, *of_matrices = sizes
    try_dims(launch, device, rng, data_type, transposes, [(batch_size,)] * 3, of_matrices, alpha, beta)


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=lambda pair: "".join(one.name for one in pair))
@every_key(BatchMatmulFactory)
def test_every_key(device, rng, key, transposes):
    for sizes in ((3, 7, 5, 11), (17, 1, 9, 4), (5, 9, 1, 4)):
        try_sizes(device, rng, *key, transposes, sizes)
        try_sizes(device, rng, *key, transposes, sizes, alpha=-2, beta=0.5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@some_key(BatchMatmulFactory, *SOME)
def test_every_size(device, rng, key, sizes):
    for transposes in TRANSPOSES:
        try_sizes(device, rng, *key, transposes, sizes, alpha=0.5, beta=1)


@pytest.mark.parametrize("sizes", [(0, 3, 4, 5), (3, 0, 4, 5), (3, 4, 0, 5), (0, 0, 0, 0)], ids=str)
@some_key(BatchMatmulFactory, *SOME)
def test_nothing_to_write(device, rng, key, sizes):
    try_sizes(device, rng, *key, (N, N), sizes)


@every_key(BatchMatmulFactory)
def test_products_of_no_terms_scale_c(device, rng, key):
    (data_type,) = key
    c = matrices(rng, data_type, 3, 5, 7)
    a, b = np.zeros((3, 5, 0), data_type.dtype), np.zeros((3, 0, 7), data_type.dtype)
    for beta in (0, held(data_type, 0.5)):
        check(launch(device, data_type, (N, N), a, b, c, 1, beta), *product(0, a, b, beta, c), 1)


@every_key(BatchMatmulFactory)
def test_what_a_zero_multiplies_is_not_read(device, rng, key):
    (data_type,) = key
    a, b, c = (matrices(rng, data_type, *dims) for dims in ((3, 5, 11), (3, 11, 7), (3, 5, 7)))
    check(launch(device, data_type, (N, N), a, b, unread(c)), *product(1, a, b, 0, c), 11)
    beta = held(data_type, 0.5)
    got = launch(device, data_type, (N, N), unread(a), b, c, alpha=0, beta=beta)
    check(got, *product(0, a, b, beta, c), 1)


@some_key(BatchMatmulFactory, FLOAT)
@given(
    data=st.data(),
    sizes=st.tuples(st.integers(0, 9), *[st.integers(0, 30)] * 3),
    transposes=st.sampled_from(TRANSPOSES),
    numbers=st.tuples(*[st.sampled_from([0, 1, -1, 0.5])] * 2),
)
def test_any_sizes(device, key, data, sizes, transposes, numbers):
    """Test any type that the device registers."""
    key = data.draw(st.sampled_from(registered_keys(device.type, BatchMatmulFactory)))
    try_sizes(device, np.random.default_rng(sum(sizes)), *key, transposes, sizes, *numbers)


@some_key(BatchMatmulFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, more, output = BatchMatmulFactory, (N, N), "c"
    sizes, numbers = ("batch_size", "m", "n", "k"), ("alpha", "beta")

    def arguments(self, device, key):
        a, b = (device.buffer(np.ones(count, key[0].dtype)) for count in (16, 24))
        sizes = dict(zip(self.sizes, (2, 2, 3, 4), strict=True))
        return {**sizes, "alpha": 1, "a": a, "b": b, "beta": 0, "c": device.filled(12, *key)}

    def test_overlap(self, device, key, refused):
        memory = device.buffer(np.ones(40, key[0].dtype))
        refused(ValueError, "c overlaps a", a=memory[:16], c=memory[15:27])
