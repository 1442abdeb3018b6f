"""quantize and dequantize: results by ONNX's text, on each device, alone, fused and with gradients."""

import ml_dtypes
import numpy as np
import pytest

import ep
import ep.ops
from ep.include.errors import UnsupportedPrimitiveError
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

QUANTIZED = ("int8", "uint8", "int16", "uint16")
FLOATS = ("float16", "bfloat16", "float32", "float64")
GRAINS = {
    "of all": ((7, 3, 5), (), {}),
    "of all, with an axis": ((7, 3, 5), (1,), {}),
    "of no axes": ((), (), {}),
    "of nothing": ((0, 3), (), {}),
    "along axis 1": ((7, 3, 5), (3,), {}),
    "along the last axis": ((7, 3, 5), (5,), {"axis": -1}),
    "along an axis of nothing": ((2, 0, 5), (0,), {}),
    "of blocks": ((2, 6, 5), (2, 3, 5), {"block_size": 2}),
    "of ragged blocks": ((2, 5, 7), (2, 5, 3), {"axis": 2, "block_size": 3}),
    "of a block larger than the axis": ((2, 5, 7), (1, 5, 7), {"axis": 0, "block_size": 9}),
}


def along(scale, shape, axis=1, block_size=0):
    """Return the number that is for each element, by a loop over all of them."""
    found = np.empty(shape, scale.dtype)
    for place in np.ndindex(shape):
        if scale.size == 1 and not block_size:
            found[place] = scale.reshape(())
        elif block_size:
            at = list(place)
            at[axis] //= block_size
            found[place] = scale[tuple(at)]
        else:
            found[place] = scale[place[axis]]
    return found


def arrays(rng, grain, dtype, kind):
    """Return x, a scale and a zero point; some numbers of x are in the middle of two."""
    shape, of_scale, attributes = GRAINS[grain]
    info = np.iinfo(kind)
    scale = (2.0 ** rng.integers(-3, 3, of_scale)).astype(dtype)
    zero_point = rng.integers(info.min // 2, info.max // 2, of_scale).astype(kind)
    span = min(info.max - info.min, 2**12)
    x = rng.integers(-2 * span, 2 * span, shape) / 4
    return np.asarray(x).astype(dtype), np.asarray(scale), np.asarray(zero_point), attributes


def quantized(x, scale, zero_point, kind, **attributes):
    info = np.iinfo(kind)
    each = along(scale, x.shape, **attributes)
    zero = 0 if zero_point is None else along(zero_point, x.shape, **attributes).astype(np.int64)
    with np.errstate(all="ignore"):
        wide = np.result_type(scale.dtype, np.float32)
        ratio = x.astype(wide) / each.astype(wide)
        whole = np.nan_to_num(np.clip(np.rint(ratio).astype(np.float64) + zero, info.min, info.max), nan=0.0)
    return whole.astype(kind)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", QUANTIZED)
@pytest.mark.parametrize("grain", GRAINS)
def test_both_ways(rng, grain, kind, dtype, device):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, scale, zero_point, attributes = arrays(rng, grain, dtype, kind)
    given = [placed(device, one) for one in (x, scale, zero_point)]
    wanted = quantized(x, scale, zero_point, kind, **attributes)
    for function in (ep.ops.quantize, ep.fuse(lambda *each: ep.ops.quantize(*each, **attributes))):
        found = host(function(*given, **(attributes if function is ep.ops.quantize else {})))
        assert (found.dtype, found.shape) == (np.dtype(kind), x.shape)
        assert np.array_equal(found, wanted)
    wide = np.float64 if dtype == np.float64 else np.float32
    each = [along(one, x.shape, **attributes).astype(wide) for one in (scale, zero_point)]
    expected = ((wanted.astype(wide) - each[1]) * each[0]).astype(dtype)
    found = host(ep.ops.dequantize(placed(device, wanted), *given[1:], **attributes))
    assert found.dtype == dtype
    assert np.array_equal(found, expected)


def test_the_ends_of_the_range(device):
    x = placed(device, np.float32([np.inf, -np.inf, np.nan, 1e30, -1e30, 0.5, 1.5, 2.5, -0.5, 126.5, 127.5]))
    one = placed(device, np.float32(1))
    found = host(ep.ops.quantize(x, one, dtype="int8"))
    assert found.tolist() == [127, -128, 0, 127, -128, 0, 2, 2, 0, 126, 127]
    assert host(ep.ops.quantize(x, one)).tolist() == [255, 0, 0, 255, 0, 0, 2, 2, 0, 126, 128]
    shifted = host(ep.ops.quantize(x, one, placed(device, np.uint16(65535))))
    assert shifted.tolist() == [65535, 0, 0, 65535, 0, 65535, 65535, 65535, 65535, 65535, 65535]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_quotients_by_scales_of_16_bits_are_not_rounded(rng, dtype, device):
    """Of 16 bits, a scale has numbers between which there are many quotients, and x of 32 bits is not rounded to it."""
    scale = np.array(0.0432, getattr(ml_dtypes, dtype, dtype))
    for x in (rng.standard_normal(131).astype(scale.dtype) * 400, np.float32(rng.standard_normal(131) * 400)):
        for zero_point in (None, np.int16(-301)):
            wanted = quantized(x, scale, zero_point if zero_point is None else np.asarray(zero_point), "int16")
            given = [None if one is None else placed(device, one) for one in (x, scale, zero_point)]
            assert np.array_equal(host(ep.ops.quantize(*given, dtype="int16")), wanted)
    x = np.int32([2**24 - 1, -12345, 0])
    of_sums = np.array(700, scale.dtype)
    found = ep.ops.quantize(placed(device, x), placed(device, of_sums), dtype="int16")
    assert np.array_equal(host(found), quantized(x, of_sums, None, "int16"))


def test_32_bits(device):
    """int32 is a sum of products: it is quantized, and dequantized without and with a zero point."""
    x, scale = placed(device, np.int32([-(2**31), -7, 0, 5, 2**31 - 1])), placed(device, np.float32(2))
    assert host(ep.ops.quantize(x, scale, dtype="int8")).tolist() == [-128, -4, 0, 2, 127]
    assert host(ep.ops.dequantize(x, scale)).tolist() == [-(2.0**32), -14, 0, 10, 2.0**32]
    found = host(ep.ops.dequantize(x, scale, placed(device, np.int32(2**31 - 1))))
    assert found.tolist() == [-(2.0**33), *[-(2.0**32)] * 3, 0]  # the nearest numbers of float32


def test_types_of_results(device):
    x, scale = placed(device, np.uint8([0, 1, 255])), placed(device, np.float32(0.3))
    assert host(ep.ops.dequantize(x, scale, dtype="float16")).dtype == np.float16
    wide = host(ep.ops.dequantize(x, scale, dtype="float64"))
    assert wide.tolist() == (np.float32([0, 1, 255]) * np.float32(0.3)).astype(np.float64).tolist()
    assert host(ep.ops.quantize(placed(device, np.float32([3])), scale, dtype="int16")).dtype == np.int16


def test_the_gradient_of_a_scale(device):
    x, zero_point = placed(device, np.int8([[3, -4], [5, 6]])), placed(device, np.int8([1, 2]))
    scale = placed(device, np.float32([0.5, 2]))
    slopes = ep.grad(lambda s, x, zero_point: ep.ops.sum(ep.ops.dequantize(x, s, zero_point)))(scale, x, zero_point)
    assert host(slopes).tolist() == [6, -2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scale": np.ones(2, np.float32)}, r"scale has shape \(2,\); it must have \(3,\)"),
        ({"scale": np.ones((1, 3), np.float32)}, r"scale has shape \(1, 3\); it must have \(3,\)"),
        ({"zero_point": np.zeros(2, np.uint8)}, r"zero_point has shape \(2,\); it must have \(3,\)"),
        ({"zero_point": np.zeros((), np.uint8)}, r"zero_point has shape \(\); it must have \(3,\)"),
        ({"axis": 2}, "axis is 2; it must be -2 ... 1"),
        ({"block_size": 2}, r"scale has shape \(3,\); it must have \(2, 2\)"),
        ({"block_size": -1}, "block_size is -1"),
    ],
)
def test_shapes_that_do_not_fit(changes, words):
    given = {"x": np.ones((2, 3), np.float32), "scale": np.ones(3, np.float32), "zero_point": np.zeros(3, np.uint8)}
    with pytest.raises(ValueError, match=words):
        ep.ops.quantize(**given | changes)
    with pytest.raises(ValueError, match=words):
        ep.ops.dequantize(**given | {"x": np.ones((2, 3), np.uint8)} | changes)


def test_types_that_do_not_fit():
    x, scale = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    for wrong in (np.int8, np.float32):
        with pytest.raises(TypeError, match=f"zero_point has dtype {np.dtype(wrong)}; it must have uint8"):
            ep.ops.quantize(x, scale, np.zeros(3, wrong), dtype="uint8")
    with pytest.raises(TypeError, match="dtype is int32; it must be one of int8, uint8, int16, uint16"):
        ep.ops.quantize(x, scale, dtype="int32")
    with pytest.raises(TypeError, match="dtype is int8; it must be one of float16"):
        ep.ops.dequantize(x.astype(np.int8), scale, dtype="int8")
    with pytest.raises(UnsupportedPrimitiveError, match="x has dtype float32; dequantize takes"):
        ep.ops.dequantize(x, scale)
    with pytest.raises(UnsupportedPrimitiveError, match="scale has dtype int32; quantize takes"):
        ep.ops.quantize(x, scale.astype(np.int32))
