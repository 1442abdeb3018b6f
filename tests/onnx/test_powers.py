"""Pow of every pair of types, compared with powers of Python's integers and of mpmath."""

import math

import mpmath
import numpy as np
import pytest
from onnx import helper

import ep.onnx
from ep import DataType
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

HALF = DataType.kBFloat16.dtype
FLOATS = [np.dtype(np.float16), HALF, np.dtype(np.float32), np.dtype(np.float64)]
BASES = [*FLOATS, np.dtype(np.int32), np.dtype(np.int64)]
EXPONENTS = [*FLOATS, *map(np.dtype, ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"))]


def is_whole(dtype):
    return dtype.kind in "iu"


def bases(dtype, rng):
    if is_whole(dtype):
        most = np.iinfo(dtype).max
        drawn = [*range(-12, 13), 1000, -(2**15), 46341, most, -most - 1, most - 1, *rng.integers(-most, most, 9)]
        return np.array([*drawn, *([2**53 + 1, 3037000499] if dtype.itemsize == 8 else [])], dtype)
    special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, -3, 0.5]
    near = 1 + rng.integers(-3, 4, 12) * float(np.spacing(np.array(1, dtype)).astype(np.float64))
    drawn = np.concatenate([special, near, -near[:3], rng.uniform(-9, 9, 9), rng.uniform(0, 2, 9), [1.0009765625]])
    return drawn.astype(dtype)


def exponents(dtype, rng):
    if is_whole(dtype):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        near = [2**bits + by for bits in (8, 11, 16, 24, 31, 53, 63) for by in (-1, 0, 1)]
        drawn = [*range(-5, 8), 33, 62, 63, 64, *near, *(-one for one in near), most, most - 1, least, least + 1]
        drawn += [int(one) for one in rng.integers(0, most, 5, dtype=dtype)]
        return np.array([one for one in drawn if least <= one <= most], dtype)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        2,
        3,
        0.5,
        -0.5,
        np.inf,
        -np.inf,
        np.nan,
        10,
        33,
        62,
        63,
        64,
        2049,
        70000.5,
        1e30,
        1.02,
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([special, rng.uniform(-9, 9, 9), rng.uniform(-1e4, 1e4, 5)]).astype(dtype)


def exact(x, y):
    """Return x to the power of y, by the rules of C: a Python int, a number of mpmath, or a special float."""
    if y == 0 or x == 1:
        return 1
    if math.isnan(x) or math.isnan(y):
        return math.nan
    whole, odd = math.isinf(y) or y == int(y), math.isfinite(y) and y % 2 == 1
    negative = math.copysign(1, x) < 0 and odd
    if x == 0 or math.isinf(x) or math.isinf(y):
        grows = (abs(x) > 1) == (y > 0)
        magnitude = 1.0 if abs(x) == 1 else math.inf if grows else 0.0
        return -magnitude if negative else magnitude
    if x < 0 and not whole:
        return math.nan
    magnitude = mpmath.exp(mpmath.mpf(y) * mpmath.log(mpmath.mpf(abs(x))))
    if whole and y > 0 and x == int(x) and magnitude < 2**65:
        magnitude = mpmath.nint(magnitude)
    return -magnitude if negative else magnitude


def floating(x, y, dtype):
    """Return the power as a float64, infinite if the type does not hold it."""
    found = exact(x, y)
    found = float(found) if abs(found) < 2**1024 or found != found else math.copysign(math.inf, found)
    with np.errstate(all="ignore"):
        return float(np.array(found).astype(dtype)) if dtype.itemsize > 2 else found


def to_integer(x, y, dtype, whole):
    """Return the power as an integer of the type, and by how much another one may differ from it."""
    bits = 8 * dtype.itemsize
    if whole:
        if y < 0:
            return (1 if x == 1 or (x == -1 and y % 2 == 0) else -1 if x == -1 else 0), 0
        found = pow(x, y, 2**bits)
        return found - 2**bits if found >= 2 ** (bits - 1) else found, 0
    found = exact(x, y)
    if found != found:
        return 0, 0
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if abs(found) >= 2 ** (bits - 1):
        return (most if found > 0 else least), 0
    number = int(found)
    return number, (1 + 4 * math.ulp(float(number)) if math.isfinite(y) and y != int(y) else 0)


def run(device, x, y, constant):
    """Return the result of a model of one Pow. constant: whether the exponent is one of its constants."""
    types = [helper.np_dtype_to_tensor_dtype(one.dtype) for one in (x, y)]
    given = [helper.make_tensor_value_info(*one) for one in zip("xy", types, (x.shape, y.shape), strict=True)]
    result = helper.make_tensor_value_info("z", types[0], np.broadcast_shapes(x.shape, y.shape))
    held = helper.make_tensor("y", types[1], y.shape, y.tobytes(), raw=True)
    graph = helper.make_graph(
        [helper.make_node("Pow", ["x", "y"], ["z"])], "power", given[: 2 - constant], [result], [held] * constant
    )
    model = ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]), device.type)
    return host(model(**{"x": placed(device, x), **({} if constant else {"y": placed(device, y)})})[0])


@mpmath.workprec(400)
def check(got, x, y):
    for place in np.ndindex(*got.shape):
        a, b, found = (np.broadcast_to(one, got.shape)[place].item() for one in (x, y, got))
        said = f"{a!r} ({x.dtype}) ** {b!r} ({y.dtype}) is {found!r}"
        if is_whole(x.dtype):
            wanted, tolerance = to_integer(a, b, x.dtype, is_whole(y.dtype))
            assert abs(found - wanted) <= tolerance, f"{said}, not {wanted}"
            continue
        wanted = floating(a, b, x.dtype)
        with np.errstate(all="ignore"):
            rounded = np.array(wanted).astype(x.dtype)
            unit = 0.0 if not np.isfinite(rounded) else float(np.spacing(np.abs(rounded)).astype(np.float64))
        if not math.isfinite(float(rounded)) or wanted == 0:
            wanted = float(rounded)
            assert found == wanted or (found != found and wanted != wanted), f"{said}, not {wanted}"
            assert found != found or math.copysign(1, found) == math.copysign(1, wanted), said
            continue
        assert abs(found - wanted) <= 4 * unit, f"{said}, not {wanted}"


@pytest.mark.parametrize("of_y", EXPONENTS, ids=str)
@pytest.mark.parametrize("of_x", BASES, ids=str)
def test_every_pair_of_types(of_x, of_y, device, rng):
    x, y = bases(of_x, rng), exponents(of_y, rng)
    if device.simulated:
        x, y = rng.permutation(x)[:7], rng.permutation(y)[:7]
    check(run(device, x[:, None], y, constant=False), x[:, None], y)
    check(run(device, x[:, None], y, constant=True), x[:, None], y)
    for number in rng.choice(y, 3):
        check(run(device, x, np.array(number), constant=True), x, np.array(number))


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [
        (np.float16(-1), np.int64(2049), -1),
        (np.float16(-1), np.uint64(2**64 - 1), -1),
        (HALF.type(-1), np.int32(257), -1),
        (np.float32(-1), np.int64(2**24 + 1), -1),
        (np.float64(-1), np.int64(2**53 + 1), -1),
        (np.float64(-1), np.int64(-(2**63) + 1), -1),
        (np.float16(1.0009765625), np.float64(7000.5), 928),
        (np.int32(10), np.float32(10), 2**31 - 1),
        (np.int64(2**53 + 1), np.float64(1), 2**53 + 1),
        (np.int64(3), np.uint64(2**63 + 1), pow(3, 2**63 + 1, 2**64)),
    ],
    ids=str,
)
def test_exponents_of_wider_types(x, y, wanted, device):
    x, y = np.array([x]), np.array([y])
    if is_whole(x.dtype):
        wanted = (wanted + 2**63) % 2**64 - 2**63
    for constant in (False, True):
        assert run(device, x, y, constant)[0] == wanted
