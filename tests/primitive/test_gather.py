"""Gather and BatchGather: every key, every row size, indices outside, and what Launch refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.number_kind import ALL, INTEGERS
from ep.include import DataType
from ep.include.primitive import BatchGatherFactory, GatherFactory
from tests.references.gather import reference
from tests.samples import samples, sized


def launch(device, factory, params, indices, offset, indices_type=None, params_type=None):
    batch, outer, gather, inner = params.shape
    params_type = params_type or DataType.kUInt8
    num_indices = indices.shape[1]
    primitive = device.require(factory, params_type, indices_type or indices.dtype)
    out = device.filled(batch * outer * num_indices * inner + 3, params_type)
    sizes = (outer, gather, inner) if factory is GatherFactory else (batch, outer, gather, inner)
    buffers = device.buffer(params), num_indices, device.buffer(indices), out
    primitive.Launch(device.stream, *sizes, *buffers, offset)
    result = device.array(out)
    assert set(result[-3:].view(np.uint8)) == {0xA5}, "elements past the end of out were written"
    return result[:-3].reshape(batch, outer, num_indices, inner)


def draw_indices(rng, dtype, shape, low, high):
    info = np.iinfo(dtype)
    return rng.integers(max(low, info.min), min(high, info.max), shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize("indices_type", INTEGERS, ids=lambda t: t.name)
@pytest.mark.parametrize("params_type", ALL, ids=lambda t: t.name)
@pytest.mark.parametrize("factory", [GatherFactory, BatchGatherFactory])
def test_every_key(device, rng, factory, params_type, indices_type):
    batch = 1 if factory is GatherFactory else 3
    params = samples(rng, params_type, batch * 2 * 11 * 5).reshape(batch, 2, 11, 5)
    indices = draw_indices(rng, indices_type.dtype, (batch, 7), -4, 15)
    out = launch(device, factory, params, indices, 2, indices_type, params_type)
    assert out.tobytes() == reference(params, indices, 2).tobytes()


@pytest.mark.parametrize(
    "inner", [*range(1, 20), *(24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 257, 8191, 8192, 8195)]
)
def test_every_row_size(device, rng, inner):
    params = rng.integers(0, 256, (2, sized(device, 3, 1), 13, inner), np.uint8)
    indices = draw_indices(rng, np.int32, (2, sized(device, 11, 5)), -2, 14)
    out = launch(device, BatchGatherFactory, params, indices, 0)
    np.testing.assert_array_equal(out, reference(params, indices, 0))


@pytest.mark.parametrize("inner", [1, 7, 16, 48, 300, 5000])
def test_a_table_beyond_the_cache(device, rng, inner):
    """Rows are fetched ahead there, and what is no row is not."""
    rows = 2**25 // inner
    params = rng.integers(0, 256, (rows, inner), np.uint8)
    outside = [-1, rows, 2**40, -(2**40), np.iinfo(np.int64).min]
    indices = np.concatenate([rng.integers(0, rows, sized(device, 9000, 90)), outside])
    rng.shuffle(indices)
    out = launch(device, GatherFactory, params[None, None], indices[None], 0)[0, 0]
    valid = (indices >= 0) & (indices < rows)
    np.testing.assert_array_equal(out, np.where(valid[:, None], params[np.where(valid, indices, 0)], 0))


@pytest.mark.parametrize("params_offset", range(0, 17, 3))
def test_addresses_of_any_alignment(device, rng, params_offset):
    params = rng.integers(0, 256, (1, 1, 13, 16), np.uint8)
    memory = device.buffer(np.concatenate([np.zeros(params_offset, np.uint8), params.reshape(-1)]))
    out = device.filled(16 * 5 + 1, DataType.kUInt8)
    indices = np.array([3, 12, 0, 13, 7], np.int64)
    primitive = device.require(GatherFactory, "uint8", "int64")
    primitive.Launch(device.stream, 1, 13, 16, memory[params_offset:], 5, device.buffer(indices), out[1:])
    expected = reference(params, indices[None], 0).reshape(-1)
    np.testing.assert_array_equal(device.array(out)[1:], expected)


@pytest.mark.parametrize(
    ("outer", "gather", "inner", "num_indices"),
    [
        (1, 1009, 1, 100_003),  # many indices of one unit each
        (7, 101, 3, 20_011),  # rows that are no unit
        (1, 3, 200_003, 2),  # rows larger than the grain: cut into pieces
        (40_009, 3, 1, 2),  # many outer groups of few indices
        (5, 64, 64, 114),
    ],
)
def test_across_the_grain(device, rng, outer, gather, inner, num_indices):
    outer, inner, num_indices = (sized(device, size, min(size, 1009)) for size in (outer, inner, num_indices))
    params = rng.integers(0, 256, (1, outer, gather, inner), np.uint8)
    indices = draw_indices(rng, np.int64, (1, num_indices), -1, gather)
    out = launch(device, GatherFactory, params, indices, 0)
    expected = np.take(params, indices[0].clip(0, gather - 1), axis=2)
    expected[:, :, (indices[0] < 0) | (indices[0] >= gather)] = 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("indices_type", INTEGERS, ids=lambda t: t.name)
@pytest.mark.parametrize("offset", [0, 1, 100, -3, 2**62, -(2**62)])
def test_extreme_indices_and_offsets(device, indices_type, offset):
    """Nothing wraps around: the least and the largest index of every type, against the least and largest offset."""
    info = np.iinfo(indices_type.dtype)
    near = [offset - 1, offset, offset + 2, offset + 3]
    indices = [info.min, info.max, 0, *(index for index in near if info.min <= index <= info.max)]
    indices = np.array([indices], indices_type.dtype)
    params = np.arange(1, 4, dtype=np.uint8).reshape(1, 1, 3, 1)
    out = launch(device, GatherFactory, params, indices, offset, indices_type)
    np.testing.assert_array_equal(out, reference(params, indices, offset))


@pytest.mark.parametrize("empty", ["outer", "gather", "inner", "num_indices", "batch"])
def test_zero_sizes(device, empty):
    sizes = {"batch": 2, "outer": 3, "gather": 5, "inner": 4, "num_indices": 6} | {empty: 0}
    params = np.ones([sizes[name] for name in ("batch", "outer", "gather", "inner")], np.uint8)
    indices = np.zeros((sizes["batch"], sizes["num_indices"]), np.int32)
    out = launch(device, BatchGatherFactory, params, indices, 0)
    np.testing.assert_array_equal(out, reference(params, indices, 0))


def test_shards_add_up_to_the_whole(device, rng):
    params = rng.integers(1, 100, (1, 3, 10, 7), np.int32)
    indices = draw_indices(rng, np.int64, (1, 23), 0, 9)
    whole = launch(device, GatherFactory, params, indices, 0, params_type=DataType.kInt32)
    pieces = [(0, 3), (3, 4), (7, 3)]
    ranks = [
        launch(device, GatherFactory, params[:, :, first : first + size], indices, first, params_type=DataType.kInt32)
        for first, size in pieces
    ]
    np.testing.assert_array_equal(sum(ranks), whole)


@given(data=st.data())
def test_any_sizes(device, data):
    size = st.integers(0, 6)
    batch, outer, gather, inner, num_indices = (data.draw(size) for _ in range(5))
    offset = data.draw(st.integers(-3, 3))
    values = data.draw(st.lists(st.integers(-5, 9), min_size=batch * num_indices, max_size=batch * num_indices))
    indices = np.array(values, np.int16).reshape(batch, num_indices)
    params = np.arange(batch * outer * gather * inner, dtype=np.uint8).reshape(batch, outer, gather, inner)
    out = launch(device, BatchGatherFactory, params, indices, offset)
    np.testing.assert_array_equal(out, reference(params, indices, offset))


class TestRefusals:
    """Each is an error that names the argument, and leaves out as it was."""

    @pytest.fixture
    def refuses(self, device):
        primitive = device.require(GatherFactory, "float32", "int64")

        def check(error, message, **changes):
            arguments = {
                "stream": device.stream,
                "outer_dim_size": 2,
                "gather_dim_size": 3,
                "inner_dim_size": 4,
                "params": device.buffer(np.ones(24, np.float32)),
                "num_indices": 5,
                "indices": device.buffer(np.zeros(5, np.int64)),
                "out": device.filled(40, DataType.kFloat),
            }
            primitive.Launch(**arguments)  # as it stands it is accepted, compiled or not
            arguments["out"] = device.filled(40, DataType.kFloat)
            arguments |= changes
            with pytest.raises(error, match=message):
                primitive.Launch(**arguments)
            if "out" not in changes:
                assert set(device.array(arguments["out"]).view(np.uint8)) == {0xA5}

        return check

    @pytest.mark.parametrize("size", ["outer_dim_size", "gather_dim_size", "inner_dim_size", "num_indices"])
    def test_sizes(self, refuses, size):
        refuses(ValueError, f"{size} is -1; it must not be negative", **{size: -1})
        refuses(TypeError, f"{size} must be an integer, not 2.0", **{size: 2.0})
        refuses(TypeError, f"{size} must be an integer, not '3'", **{size: "3"})
        refuses(ValueError, f"{size} is {2**63}", **{size: 2**63})
        refuses(ValueError, "elements; at least", **{size: 2**62})

    def test_offset(self, refuses):
        refuses(TypeError, "offset must be an integer", offset=0.5)
        refuses(ValueError, "offset is", offset=2**62 + 1)
        refuses(ValueError, "offset is", offset=2**63)
        refuses(ValueError, "offset is", offset=-(2**62) - 1)

    def test_too_few_elements(self, device, refuses):
        refuses(ValueError, "params has 23 elements; at least 24", params=device.buffer(np.ones(23, np.float32)))
        refuses(ValueError, "indices has 4 elements; at least 5", indices=device.buffer(np.zeros(4, np.int64)))
        refuses(ValueError, "out has 39 elements; at least 40", out=device.filled(39, DataType.kFloat))

    def test_wrong_dtypes(self, device, refuses):
        refuses(TypeError, "params has dtype float64", params=device.buffer(np.ones(24)))
        refuses(TypeError, "indices has dtype int32", indices=device.buffer(np.zeros(5, np.int32)))
        refuses(TypeError, "out has dtype uint32", out=device.filled(40, DataType.kUInt32))

    def test_overlap(self, device, refuses):
        memory = device.buffer(np.ones(64, np.float32))
        refuses(ValueError, "out overlaps params", params=memory[:24], out=memory[23:63])
        refuses(
            ValueError, "out (overlaps|is the memory of) indices", indices=memory[:10].view(np.int64), out=memory[9:49]
        )

    def test_streams(self, refuses):
        refuses(TypeError, "stream must be a stream", stream=None)


def test_more_than_two_to_the_31_elements(device):
    """Offsets past 2^31: on the side of params, then on that of out."""
    inner, rows = sized(device, 1 << 20, 1 << 5), (1 << 11) + 3
    large = device.empty(rows * inner, DataType.kInt8)
    primitive = device.require(GatherFactory, "int8", "int32")

    chosen = np.array([rows - 1, 1 << 11, 0, rows], np.int32)
    marks = np.arange(1, inner + 1).astype(np.int8)
    device.write(large[-inner:], marks)
    device.write(large[inner << 11 :][:inner], marks[::-1])
    device.write(large[:inner], marks)
    out = device.empty(4 * inner, DataType.kInt8)
    primitive.Launch(device.stream, 1, rows, inner, large, 4, device.buffer(chosen), out)
    expected = np.stack([marks, marks[::-1], marks, np.zeros_like(marks)])
    np.testing.assert_array_equal(device.array(out, (4, inner)), expected)

    indices = np.arange(rows, dtype=np.int32) % 5
    table = np.arange(5 * inner).astype(np.int8)
    primitive.Launch(device.stream, 1, 5, inner, device.buffer(table), rows, device.buffer(indices), large)
    table = table.reshape(5, inner)
    for row in (0, 1, 2046, 2047, 2048, 2049, rows - 1):
        np.testing.assert_array_equal(device.array(large[row * inner :][:inner]), table[row % 5])
