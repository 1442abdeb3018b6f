"""ArgSort: every key, one place, few and all, sizes across threads and blocks, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import ArgSortFactory, SortOrder
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, some_key, those_keys
from ep.testing.references.arg_sort import arg_sort
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import samples, sized

T = DataType
FLOAT = (SortOrder.kAscending, T.kFloat)
SOME = [FLOAT, (SortOrder.kDescending, T.kBFloat16), (SortOrder.kAscendingNanFirst, T.kDouble)]
SOME += [(SortOrder.kDescending, T.kUInt8), (SortOrder.kAscending, T.kInt64)]


def draw(rng: Rng, data_type: DataType, shape: Dims) -> Any:
    """Return elements of which many are equal; of floating types, some are NaN, infinite, or zeros of both signs."""
    x = samples(rng, data_type, int(np.prod(shape)))
    few = samples(rng, data_type, 5) if x.size else x
    equal = rng.random(x.size) < 0.4
    x[equal] = rng.choice(few, int(equal.sum()))
    if data_type.dtype.kind not in "biu":
        special = rng.random(x.size) < 0.2
        x[special] = rng.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], int(special.sum())).astype(x.dtype)
    return x.reshape(shape)


def launch(device: DeviceUnderTest, key: FlatKey, x: Array, num_places: int) -> Any:
    places = device.filled(x.shape[0] * num_places * x.shape[2] + 3, T.kInt64)
    device.require(ArgSortFactory, *key).Launch(
        device.stream, *x.shape, num_places, device.buffer(x.reshape(-1)), places
    )
    return device.written(places, (x.shape[0], num_places, x.shape[2]))


def check(device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims, num_places: int) -> None:
    x = draw(rng, key[1], shape)
    np.testing.assert_array_equal(launch(device, key, x, num_places), arg_sort(key[0], x, num_places))


@every_key(ArgSortFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    for shape, num_places in (((3, 19, 1), 1), ((2, 7, 11), 1), ((2, 11, 3), 11), ((2, 90, 1), 4)):
        check(device, rng, key, shape, num_places)


@pytest.mark.parametrize("size", [*range(1, 10), 15, 17, 32, 33, 63, 65, 255, 257, 1023, 1025, 4099])
@some_key(ArgSortFactory, *SOME)
def test_every_size(device: DeviceUnderTest, rng: Rng, key: FlatKey, size: int) -> None:
    size = sized(device, size, min(size, 300))
    for shape in ((1, size, 1), (3, size, 2), (1, 3, size)):
        check(device, rng, key, shape, 1)
    for num_places in sorted({1, 2, size // 3, size} - {0}):
        check(device, rng, key, (1, size, 1), min(num_places, size))


@pytest.mark.parametrize("num_places", [1, 3, 128, 129, 300, 5000, 20_011])
@some_key(ArgSortFactory, *SOME)
def test_every_number_of_places(device: DeviceUnderTest, rng: Rng, key: FlatKey, num_places: int) -> None:
    size = sized(device, 20_011, 301)
    check(device, rng, key, (1, size, 1), min(num_places, size))
    check(device, rng, key, (2, size // 7, 2), min(num_places, size // 7))


@pytest.mark.parametrize(
    "shape", [(1, 400_009, 1), (5, 70_001, 1), (1, 1009, 311), (1, 50_021, 9), (51, 67, 30), (3, 7, 10_007)], ids=str
)
@some_key(ArgSortFactory, FLOAT, SOME[1], SOME[3])
def test_one_place_across_threads_and_blocks(device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims) -> None:
    shape = tuple(sized(device, size, min(size, 9001 if shape[2] == 1 and shape[0] == 1 else 41)) for size in shape)
    check(device, rng, key, shape, 1)


@some_key(ArgSortFactory, *SOME)
def test_many_lines(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    lines = sized(device, 2003, 19)
    for size, num_places in ((11, 11), (90, 5), (70, 70)):
        check(device, rng, key, (lines, size, 1), num_places)


@pytest.mark.parametrize("rises", [True, False])
@some_key(ArgSortFactory, *((order, t) for order in SortOrder for t in (T.kInt32, T.kDouble)))
def test_elements_that_are_sorted_already(device: DeviceUnderTest, key: FlatKey, rises: Any) -> None:
    """Each element is before all others that were found, or behind them."""
    size = sized(device, 30_011, 307)
    x = np.arange(size).astype(key[1].dtype).reshape(1, -1, 1)
    x = x if rises else x[:, ::-1].copy()
    for num_places in (5, 140, 1000):
        some = min(num_places, size)
        first = np.argsort(x[0, :, 0] if key[0] is not SortOrder.kDescending else -x[0, :, 0], kind="stable")
        assert launch(device, key, x, some)[0, :, 0].tolist() == first[:some].tolist()


@those_keys(
    ArgSortFactory, *((order, t) for order in SortOrder for t in (T.kFloat16, T.kBFloat16, T.kFloat, T.kDouble))
)
def test_special_values(device: DeviceUnderTest, key: FlatKey) -> None:
    """All NaN are equal, whatever their bits, and so are both zeros."""
    x = np.array([0.0, -0.0, 1, np.nan, -np.inf, -np.nan, 0, np.inf, -1, -0.0, np.nan], key[1].dtype).reshape(1, -1, 1)
    for num_places in (1, 4, 11):
        np.testing.assert_array_equal(launch(device, key, x, num_places), arg_sort(key[0], x, num_places))


@pytest.mark.parametrize(
    ("shape", "num_places"), [((0, 3, 2), 2), ((3, 0, 2), 0), ((3, 2, 0), 1), ((0, 0, 0), 1)], ids=str
)
@some_key(ArgSortFactory, FLOAT)
def test_nothing_to_write(device: DeviceUnderTest, key: FlatKey, shape: Dims, num_places: int) -> None:
    assert launch(device, key, np.zeros(shape, key[1].dtype), num_places).size == 0


@few_keys(ArgSortFactory)
@few_examples
@given(data=st.data(), shape=st.tuples(st.integers(1, 4), st.integers(1, 200), st.integers(1, 20)))
def test_any_sizes(device: DeviceUnderTest, key: FlatKey, data: st.DataObject, shape: Dims) -> None:
    num_places = data.draw(st.sampled_from(sorted({1, 1 + shape[1] // 9, shape[1]})))
    check(device, np.random.default_rng(shape), key, shape, num_places)


@some_key(ArgSortFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, output = ArgSortFactory, "places"
    sizes = "outer_dim_size", "sort_dim_size", "inner_dim_size", "num_places"

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        sizes = dict(zip(self.sizes, (2, 3, 1, 2), strict=True))
        return {**sizes, "x": device.buffer(np.ones(6, key[1].dtype)), "places": device.filled(4, T.kInt64)}

    def test_sizes(self, refused: Refused) -> None:
        refused(ValueError, "num_places is 4; it must not be above sort_dim_size 3", num_places=4)
        refused(ValueError, "num_places is 1; it must not be above sort_dim_size 0", sort_dim_size=0, num_places=1)
        refused(ValueError, r"sort_dim_size is 2147483648; it must be below 2\*\*31", sort_dim_size=2**31)

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.filled(8, T.kInt64)
        refused(ValueError, "places overlaps x", x=memory[:3].view(key[1].dtype), places=memory[2:6])
