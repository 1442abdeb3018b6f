"""The tests that all four softmaxes have."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.testing.arrays import Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized
from ep.testing.softmaxes import SoftmaxPrimitive, check, launch

KEYS: Final = ((DataType.kFloat,), (DataType.kDouble,), (DataType.kBFloat16,))
"""The keys of tests that need not run with every key."""

_COLS: Final = (*range(1, 10), 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 129, 255, 257, 511, 769, 1023, 1025, 2047)
_LARGE: Final = ((67, 4099), (3, 50_257), (1, 200_003), (20_011, 7), (5, 16_384))
"""Rows and columns beyond those that a thread computes at once."""


def softmax_tests(tested: SoftmaxPrimitive) -> type:
    """Return the class of the tests, which a module names `Test...`."""
    factory = tested.factory

    @some_key(factory, (DataType.kFloat,))
    class Tests(OfAnyLaunch):
        output, sizes = tested.output, ("rows", "cols")

        def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
            operands = {name: device.buffer(np.ones(6, key[0].dtype)) for name in tested.operands}
            return {"rows": 2, "cols": 3, **operands, tested.output: device.filled(6, *key)}

        @every_key(factory)
        def test_every_key(self, device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
            """Test a few shapes and spreads; in place of each operand."""
            (data_type,) = key
            for rows, cols, spread in ((1, 1, 1), (3, 5, 20), (7, 33, 5), (2, 131, 20), (5, 1025, 1)):
                check(device, tested, data_type, tested.draw(rng, data_type, rows, cols, spread))
            for place in range(len(tested.operands)):
                check(device, tested, data_type, tested.draw(rng, data_type, 5, 67, 3), place)

        @pytest.mark.parametrize("cols", _COLS)
        @some_key(factory, *KEYS)
        def test_every_number_of_columns(self, device: DeviceUnderTest, rng: Rng, key: FlatKey, cols: int) -> None:
            for rows in (1, 3, sized(device, 19, 5)):
                check(device, tested, key[0], tested.draw(rng, *key, rows, cols, 5))

        @pytest.mark.parametrize("shape", _LARGE, ids=str)
        @some_key(factory, *KEYS)
        def test_large(self, device: DeviceUnderTest, rng: Rng, key: FlatKey, shape: Dims) -> None:
            """Test many rows divided among threads, and single rows divided among threads."""
            rows, cols = (sized(device, size, min(size, 300)) for size in shape)
            check(device, tested, key[0], tested.draw(rng, *key, rows, cols, 2))

        @some_key(factory, *KEYS)
        def test_memory_that_is_not_aligned(self, device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
            """Test buffers that begin at any element: each row gives the same bits at any address."""
            (data_type,) = key
            sources = tested.draw(rng, data_type, 4, 37, 3)
            want = launch(device, tested, data_type, sources)
            primitive = device.require(factory, data_type)
            for begin in (1, 2, 5):
                padded = [np.concatenate([np.zeros(begin, data_type.dtype), source.reshape(-1)]) for source in sources]
                operands = [device.buffer(each)[begin:] for each in padded]
                output = device.filled(begin + 4 * 37 + 4, data_type)
                primitive.Launch(device.stream, 4, 37, *operands, output[begin + 1 :])
                assert device.written(output, 4 * 37, begin + 1).tobytes() == want.tobytes()

        @some_key(factory, *KEYS)
        def test_nothing(self, device: DeviceUnderTest, key: FlatKey) -> None:
            """Test no rows, or no columns."""
            (data_type,) = key
            for shape in ((0, 5), (5, 0), (0, 0)):
                sources = [np.zeros(shape, data_type.dtype) for _ in tested.operands]
                assert launch(device, tested, data_type, sources).size == 0

        @some_key(factory, *KEYS)
        def test_not_a_number_spreads_over_its_row(self, device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
            """A NaN spreads from the operand whose rows are summed, and so does infinity."""
            sources = tested.draw(rng, *key, 4, 21)
            sources[-1][1, 5], sources[-1][2, 7] = np.nan, np.inf
            got = launch(device, tested, key[0], sources).astype(np.float32)
            assert np.isnan(got[1]).all()
            assert not np.isfinite(got[2]).any()
            assert np.isfinite(got[[0, 3]]).all()

        @every_key(factory)
        def test_any_sizes(self, device: DeviceUnderTest, key: FlatKey) -> None:
            @few_examples
            @given(num_rows=st.integers(1, 9), cols=st.integers(1, 40), spread=st.floats(0, 30))
            def check_sizes(num_rows: int, cols: int, spread: float) -> None:
                sources = tested.draw(np.random.default_rng(cols), key[0], num_rows, cols, spread)
                check(device, tested, key[0], sources)

            check_sizes()

        def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
            memory, last = device.filled(16, *key), tested.operands[-1]
            refused(ValueError, f"{tested.output} overlaps {last}", **{last: memory[:6], tested.output: memory[1:7]})

    Tests.factory = factory
    return Tests
