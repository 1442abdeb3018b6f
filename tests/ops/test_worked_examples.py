"""Examples worked out by hand: shapes, values, offsets and strides."""

import json
from pathlib import Path

import numpy as np
import pytest

from ep.common.primitive.gather_view import gather_view
from ep.common.primitive.nd_index_offset_helper import NdIndexOffsetHelper
from ep.common.primitive.strides import contiguous_strides
from ep.include.primitive import GatherFactory
from ep.ops.repeat import repeat_dims

EXAMPLES = json.loads((Path(__file__).parents[1] / "data" / "worked_examples.json").read_text())


def numbered(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def each(name):
    return pytest.mark.parametrize("example", EXAMPLES[name])


@each("gather")
def test_gather(gather, example):
    result = gather(example["params"], example["indices"], example["axis"], example["batch_dims"])
    assert result.tolist() == example["output"]


@each("gather_shapes")
def test_gather_shapes(gather, example):
    indices = np.zeros(example["indices"], np.int32)
    result = gather(numbered(example["params"]), indices, example["axis"], example["batch_dims"])
    assert result.shape == tuple(example["output"])


def test_gather_view():
    example = EXAMPLES["gather_simplified"][0]
    view = gather_view(example["params"], example["axis"])
    assert view == (1, example["outer"], example["gather"], example["inner"])


def test_one_element_of_gather(gather):
    example = EXAMPLES["gather_simplified"][1]
    params = numbered(example["params"])
    indices = np.array([2, 1, 4, example["indices_flat_value_at_3"], 3, 2]).reshape(example["indices"])
    result = gather(params, indices, example["axis"])
    view = gather_view(params.shape, example["axis"])
    helper = NdIndexOffsetHelper((view.outer, indices.size, view.inner))
    assert list(helper.OffsetToNdIndex(example["output_offset"])) == example["output_coord"]
    source = NdIndexOffsetHelper(view[1:]).NdIndexToOffset(example["params_coord"])
    assert source == example["params_offset"]
    assert result.flat[example["output_offset"]] == params.flat[source]


def test_one_element_of_batch_gather(gather):
    example = EXAMPLES["batch_gather_walk"]
    params, axis, batch_dims = numbered(example["params"]), example["axis"], example["batch_dims"]
    view = gather_view(params.shape, axis, batch_dims)
    per_batch = np.prod(example["indices"][batch_dims:])
    assert (view.batch, list(view[1:])) == (example["num_batches"], example["params_outer_gather_inner"])
    assert np.prod(view[1:]) == example["params_per_batch"]
    assert per_batch == example["indices_per_batch"]
    assert [view.outer, per_batch, view.inner] == example["output_outer_gather_inner"]

    indices = np.zeros(example["indices"], np.int64)
    indices.flat[example["indices_offset"]] = example["index_value"]
    result = gather(params, indices, axis, batch_dims)
    assert result.size == view.batch * example["output_per_batch"]

    batch, offset = divmod(example["output_offset"], example["output_per_batch"])
    assert (batch, offset) == (example["batch_id"], example["offset_in_batch"])
    coord = NdIndexOffsetHelper(example["output_outer_gather_inner"]).OffsetToNdIndex(offset)
    assert list(coord) == example["coord_in_batch"]
    assert batch * per_batch + coord[1] == example["indices_offset"]
    helper = NdIndexOffsetHelper(example["params_outer_gather_inner"])
    assert helper.NdIndexToOffset((coord[0], example["index_value"], coord[2])) == example["params_offset_in_batch"]
    source = batch * example["params_per_batch"] + example["params_offset_in_batch"]
    assert source == example["params_offset"]
    assert result.flat[example["output_offset"]] == params.flat[source]


def test_gather_sharded(gather, device):
    params, indices = numbered((2, 5, 2)), np.array([[2, 1, 4], [0, 3, 2]], np.int32)
    primitive = device.require(GatherFactory, np.float32, np.int32)
    total = np.zeros((2, 2, 3, 2), np.float32)
    for offset, size in zip(EXAMPLES["gather_sharded"]["offsets"], EXAMPLES["gather_sharded"]["sizes"], strict=True):
        rows, out = device.buffer(params[:, offset : offset + size]), device.buffer(np.full_like(total, np.nan))
        primitive.Launch(device.stream, 2, size, 2, rows, indices.size, device.buffer(indices), out, offset)
        total += device.array(out, total.shape)
    assert np.array_equal(total, gather(params, indices, axis=1))


@each("expand")
def test_expand(expand, example):
    x = numbered(example["input"])
    for sizes in example["sizes"]:
        result = expand(x, *sizes)
        assert np.array_equal(result, np.broadcast_to(x, example["output"]))


@each("expand_strides")
def test_expand_strides(expand, example):
    x = numbered(example["input"])
    assert list(contiguous_strides(x.shape)) == example["stride"]
    assert np.array_equal(expand(x, example["size"]), walked(x, example["size"], example["output_stride"]))


def test_expand_on_each_rank(expand):
    example = EXAMPLES["expand_physical"]
    x = numbered(example["logical_input"])
    parts = []
    for piece in np.split(x, example["ranks"], example["split_axis"]):
        assert list(piece.shape) == example["physical_input"]
        assert list(contiguous_strides(piece.shape)) == example["physical_stride"]
        piece = np.ascontiguousarray(piece)
        parts.append(expand(piece, example["physical_size"]))
        assert np.array_equal(parts[-1], walked(piece, example["physical_size"], example["physical_output_stride"]))
    split_axis = example["split_axis"] + len(example["logical_size"]) - x.ndim
    assert np.array_equal(np.concatenate(parts, split_axis), expand(x, example["logical_size"]))


def walked(x, size, stride):
    return np.lib.stride_tricks.as_strided(x, size, [x.itemsize * step for step in stride])


@each("strides")
def test_strides(example):
    assert list(contiguous_strides(example["shape"])) == example["stride"]


@each("repeat")
def test_repeat(repeat, example):
    x = numbered(example["input"])
    result = repeat(x, *example["repeat"])
    assert result.shape == tuple(example["output"])
    assert np.array_equal(result, np.tile(x, example["repeat"]))
    if "expand" in example:
        src_dims, dst_dims, _ = repeat_dims(x.shape, tuple(example["repeat"]))
        # leading axes of size 1 of the source may be left out
        padding = (1,) * (len(src_dims) - len(example["reshaped_input"]))
        assert (src_dims, dst_dims) == ((*padding, *example["reshaped_input"]), tuple(example["expand"]))


def test_every_example_is_used():
    used = ["gather", "gather_shapes", "gather_simplified", "batch_gather_walk", "gather_sharded"]
    used += ["expand", "expand_strides", "expand_physical", "strides", "repeat"]
    assert set(EXAMPLES) == {"about", *used}
