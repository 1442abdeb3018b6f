"""BroadcastMatmul: every type and transpose, every way to broadcast a, b and c, and invalid arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import BlasTransposeType, BroadcastMatmulFactory
from ep.testing import products
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key
from ep.testing.products import written
from ep.testing.references.matmul import TRANSPOSES, check, matrices, product
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch

D = DataType
N, T = BlasTransposeType
FLOAT = (D.kFloat,)
SOME = [FLOAT, (D.kBFloat16,), (D.kComplex64,), (D.kUInt16,), (D.kInt64,)]

BATCHES = [
    ((), (), ()),
    ((3,), (3,), (3,)),
    ((3,), (), (3,)),
    ((), (3,), (3,)),
    ((1,), (1,), (1,)),
    ((3,), (3,), ()),
    ((3,), (), ()),
    ((), (3,), (1,)),
    ((), (), (3,)),
    ((2, 3), (2, 3), (2, 1)),  # the reduced axis is not outermost
    ((2, 3), (3,), (2, 1)),
    ((2, 3), (2, 3), (1, 3)),
    ((2, 3), (2, 1), (3,)),
    ((2, 1), (1, 3), (2, 3)),
    ((2, 1), (1, 3), (2, 1)),
    ((2, 1), (1, 3), (1, 1)),
    ((2, 3, 4), (3, 1), (2, 1, 4)),
    ((2, 3, 4), (2, 3, 4), (3, 1)),
    ((2, 1, 3, 1, 2, 1), (1, 2, 1, 2, 1, 3), (2, 2, 1, 2, 2, 1)),
    ((0,), (0,), (0,)),
    ((2, 0), (1,), (2, 0)),
    ((0,), (0,), ()),  # no products: the result is beta * c
    ((2, 0), (2, 1), (2, 1)),
]
"""The batch dims of a, b and c, before those of the matrices."""


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
    primitive = device.require(BroadcastMatmulFactory, data_type, *transposes, 8)
    a_memory, b_memory = device.buffer(a), device.buffer(b)
    return written(
        device,
        c,
        lambda memory: primitive.Launch(
            device.stream, alpha, a.shape, a_memory, b.shape, b_memory, beta, c.shape, memory
        ),
    )


try_dims = partial(products.try_dims, launch)


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=lambda pair: "".join(one.name for one in pair))
@every_key(BroadcastMatmulFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, transposes: Any) -> None:
    for batches in (((2, 3), (3,), (2, 3)), ((2, 3), (2, 3), (2, 1)), ((3,), (3,), ())):
        try_dims(device, rng, key[0], transposes, batches, (7, 5, 11))
        try_dims(device, rng, key[0], transposes, batches, (7, 5, 11), alpha=-2, beta=0.5)


@pytest.mark.parametrize("batches", BATCHES, ids=str)
@some_key(BroadcastMatmulFactory, *SOME)
def test_every_kind_of_broadcast(device: DeviceUnderTest, rng: Rng, key: FlatKey, batches: Any) -> None:
    for transposes, numbers in itertools.product(TRANSPOSES, ((1, 0), (0.5, 2))):
        try_dims(device, rng, key[0], transposes, batches, (3, 4, 5), *numbers)
    try_dims(device, rng, key[0], (N, N), batches, (1, 7, 5), 1, 1)
    try_dims(device, rng, key[0], (T, N), batches, (7, 1, 5), 1, 1)


@pytest.mark.parametrize(
    ("batches", "sizes"),
    [
        (((11,), (), (11,)), (61, 67, 31)),
        (((11,), (11,), ()), (61, 67, 31)),
        (((3, 5), (5,), (3, 5)), (127, 31, 63)),
        (((2, 3), (2, 3), (2, 1)), (523, 61, 41)),
        (((1009,), (1009,), ()), (2, 3, 1)),
    ],
    ids=str,
)
@some_key(BroadcastMatmulFactory, *SOME)
def test_across_blocks(device: DeviceUnderTest, rng: Rng, key: FlatKey, batches: Any, sizes: Any) -> None:
    for transposes in TRANSPOSES:
        try_dims(device, rng, key[0], transposes, batches, sizes, 1, 1)


@pytest.mark.parametrize("sizes", [(0, 4, 5), (4, 0, 5), (3, 4, 0)], ids=str)
@some_key(BroadcastMatmulFactory, *SOME)
def test_matrices_without_elements(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: Any) -> None:
    for batches in (((2, 3), (3,), (2, 3)), ((2, 3), (3,), (3,)), ((0,), (1,), (0,))):
        for beta in (0, 0.5):
            try_dims(device, rng, key[0], (N, T), batches, sizes, 1, beta)


@some_key(BroadcastMatmulFactory, FLOAT)
def test_beta_enters_once_however_many_products_are_summed(device: DeviceUnderTest, key: FlatKey) -> None:
    (data_type,) = key
    a, b = np.zeros((2, 3, 2, 2), data_type.dtype), np.zeros((2, 3, 2, 2), data_type.dtype)
    for dims in ((2, 1, 2, 2), (1, 3, 2, 2), (1, 1, 2, 2), (3, 2, 2), (2, 2), (2, 3, 2, 2)):
        c = np.ones(dims, data_type.dtype)
        assert (launch(device, data_type, (N, N), a, b, c, 1, 0.5) == 0.5).all()


@some_key(BroadcastMatmulFactory, *SOME)
def test_lists_and_arrays_as_dims(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    (data_type,) = key
    a, b, c = (matrices(rng, data_type, *dims) for dims in ((2, 3, 4), (4, 5), (2, 3, 5)))
    primitive = device.require(BroadcastMatmulFactory, *key, N, N, 3)
    for kind in (tuple, list, np.array, tuple):
        out = device.filled(30, data_type)
        dims = map(kind, (a.shape, b.shape, c.shape))
        (a_dims, b_dims, c_dims) = dims
        primitive.Launch(device.stream, 1, a_dims, device.buffer(a), b_dims, device.buffer(b), 0, c_dims, out)
        check(device.array(out, c.shape), *product(1, a, b, 0, c), 4)


@st.composite
def broadcasts(draw: Callable[..., Any]) -> Any:
    dims = draw(st.lists(st.integers(0, 3), max_size=6))
    operands = []
    for _ in range(3):
        kept = dims[draw(st.integers(0, len(dims))) :]
        operands.append(tuple(draw(st.sampled_from([1, size])) for size in kept))
    return operands


@every_key(BroadcastMatmulFactory)
@few_examples
@given(
    batches=broadcasts(),
    sizes=st.tuples(*[st.integers(0, 9)] * 3),
    transposes=st.sampled_from(TRANSPOSES),
    numbers=st.tuples(*[st.sampled_from([0, 1, -1, 0.5])] * 2),
)
def test_any_dims(
    device: DeviceUnderTest, key: FlatKey, batches: Any, sizes: Any, transposes: Any, numbers: Any
) -> None:
    try_dims(device, np.random.default_rng(sum(sizes)), key[0], transposes, batches, sizes, *numbers)


@some_key(BroadcastMatmulFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, more, output = BroadcastMatmulFactory, (N, N, 3), "c"
    dims, numbers = ("a_dims", "b_dims", "c_dims"), ("alpha", "beta")

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        a, b = (device.buffer(np.ones(count, key[0].dtype)) for count in (16, 12))
        a, b = {"a_dims": (2, 2, 4), "a": a}, {"b_dims": (4, 3), "b": b}
        return {"alpha": 1, **a, **b, "beta": 0, "c_dims": (2, 2, 3), "c": device.filled(12, *key)}

    def test_dims(self, refused: Refused) -> None:
        refused(ValueError, r"a_dims is \(4,\); it must have at least the two dims of a matrix", a_dims=(4,))
        refused(ValueError, r"a_dims \(2, 2, 4\) has k = 4, and b_dims \(5, 3\) has k = 5", b_dims=(5, 3))
        refused(ValueError, r"c_dims \(2, 3, 2\) ends with \(3, 2\); .* \(2, 3\)", c_dims=(2, 3, 2))
        refused(ValueError, r"b_dims\[:-2\] \(3,\).* do not broadcast at axis -1", b_dims=(3, 4, 3))
        refused(ValueError, r"c_dims\[:-2\] \(3,\) do not broadcast at axis -1", c_dims=(3, 2, 3))

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.buffer(np.ones(40, key[0].dtype))
        refused(ValueError, "c overlaps b", b=memory[:12], c=memory[11:23])


def test_more_dims_than_upstream_has(device: DeviceUnderTest) -> None:
    for max_num_dims in (9, 100):
        from ep import NewPrimitive

        assert NewPrimitive(BroadcastMatmulFactory, device.type, "float32", N, N, max_num_dims) is None
