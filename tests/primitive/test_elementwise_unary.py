"""ElementwiseUnary: every key against the references, in place, across the grain, and what Launch refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep import DeviceType, UnaryOp
from ep.include import DataType
from ep.include.primitive import ElementwiseUnary, ElementwiseUnaryFactory, registered
from ep.include.primitive.attributes import ATTRIBUTES
from tests.agreement import check_unary
from tests.references.convert import convert
from tests.references.unary import exact
from tests.samples import samples, sized

KEYS = [
    (entry.op, *entry.dtypes)
    for entry in registered(DeviceType.kCPU)
    if entry.interface is ElementwiseUnary and entry.device_type is DeviceType.kCPU
]
REQUIRED = {UnaryOp.kThreshold: (0.25, -3.0)}


def name(key):
    return "-".join(part.name for part in key)


def attributes_of(op):
    return REQUIRED.get(op) or tuple(attribute.default for attribute in ATTRIBUTES.get(op, ()))


def launch(device, key, src, *attributes):
    op, src_type, dst_type = key
    dst = device.filled(src.size + 3, dst_type)
    primitive = device.require(ElementwiseUnaryFactory, op, src_type, dst_type, *attributes)
    primitive.Launch(device.stream, device.buffer(src), dst, src.size)
    result = device.array(dst)
    assert set(result[-3:].view(np.uint8)) == {0xA5}, "elements past the end of dst were written"
    return result[:-3]


@pytest.mark.parametrize("key", KEYS, ids=name)
def test_every_key(device, rng, key):
    op, src_type, _ = key
    src = samples(rng, src_type, sized(device, 1013, 257))
    attributes = attributes_of(op)
    given = attributes if op in REQUIRED else ()  # the others are left to their defaults
    check_unary(op, src_type, launch(device, key, src, *given), src, attributes)


def test_every_op_is_registered():
    assert {op for op, *_ in KEYS} == set(UnaryOp) - {UnaryOp.kCast}


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 33, 32768, 32769, 100_003])
@pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kFloat16, DataType.kInt8], ids=lambda t: t.name)
def test_every_length(device, rng, data_type, count):
    """Tails, one grain, and several of them; the same value gives the same bits wherever it lies."""
    count = sized(device, count, min(count, 4099))
    src = samples(rng, data_type, count)
    key = (UnaryOp.kRelu, data_type, data_type)
    got = launch(device, key, src)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, np.where(src <= 0, np.zeros_like(src), src))


@pytest.mark.parametrize("count", [1, 33, 100_003])
@pytest.mark.parametrize(
    "key",
    [(UnaryOp.kAbs, DataType.kFloat, DataType.kFloat), (UnaryOp.kLogicalNot, DataType.kUInt8, DataType.kBool)],
    ids=name,
)
def test_in_place(device, rng, key, count):
    op, src_type, dst_type = key
    src = samples(rng, src_type, count)
    memory = device.buffer(src)
    device.require(ElementwiseUnaryFactory, *key).Launch(device.stream, memory, memory.view(dst_type.dtype), count)
    want = convert(exact(op, src), dst_type.dtype)
    np.testing.assert_array_equal(device.array(memory).view(dst_type.dtype), want)


@pytest.mark.parametrize("alpha", [0.1, 1 / 3, 1e-300])
def test_attributes_are_not_cut_to_float32(device, alpha):
    src = np.array([-1.0, -3.0])
    got = launch(device, (UnaryOp.kLeakyRelu, DataType.kDouble, DataType.kDouble), src, alpha)
    np.testing.assert_array_equal(got, alpha * src)


@pytest.mark.parametrize("destination", [DataType.kFloat16, DataType.kBFloat16], ids=lambda t: t.name)
def test_narrowing_rounds_once(device, rng, destination):
    """From complex128 to a 16-bit type: rounding to float32 on the way would show at these values."""
    digits = 11 if destination is DataType.kFloat16 else 8
    ties = 1 + np.arange(1, 200, 2) * 2.0**-digits
    reals = np.concatenate(
        [ties, ties + 2.0**-50, ties - 2.0**-50, [65519.999999999, 65520, 1e300, 2.0**-25, 0, np.inf]]
    )
    src = np.concatenate([reals, -reals]).astype(np.complex128)
    got = launch(device, (UnaryOp.kReal, DataType.kComplex128, destination), src)
    assert got.tobytes() == convert(src.real, destination.dtype).tobytes()


@pytest.mark.parametrize("data_type", [DataType.kFloat16, DataType.kBFloat16], ids=lambda t: t.name)
def test_all_16_bit_values_survive(device, data_type):
    """Every bit pattern converts to float32 and back unchanged, NaNs staying NaN."""
    src = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(data_type.dtype)
    got = launch(device, (UnaryOp.kCeil, data_type, data_type), src)
    with np.errstate(invalid="ignore"):
        want = np.ceil(src.astype(np.float32))
    np.testing.assert_array_equal(got.astype(np.float32), convert(want, data_type.dtype).astype(np.float32))
    nans = np.isnan(src.astype(np.float32))
    assert np.isnan(got[nans].astype(np.float32)).all()


REAL = st.floats(-8, 8, width=32)


@given(
    op=st.sampled_from([UnaryOp.kLeakyRelu, UnaryOp.kHardTanh, UnaryOp.kThreshold, UnaryOp.kRelu]),
    data_type=st.sampled_from([DataType.kFloat16, DataType.kBFloat16, DataType.kFloat, DataType.kDouble]),
    values=st.lists(st.floats(width=32), max_size=40),
    attributes=st.tuples(REAL, REAL),
)
def test_any_values_and_attributes(device, op, data_type, values, attributes):
    with np.errstate(over="ignore"):
        src = np.array(values, np.float32).astype(data_type.dtype)
    attributes = attributes[: len(ATTRIBUTES.get(op, ()))]
    got = launch(device, (op, data_type, data_type), src, *attributes)
    if src.size:
        check_unary(op, data_type, got, src, attributes)


class TestRefusals:
    """Each is an error that names the argument, and leaves dst as it was."""

    @pytest.fixture
    def refuses(self, device):
        primitive = device.require(ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")

        def check(error, message, **changes):
            arguments = {
                "stream": device.stream,
                "src": device.buffer(np.ones(8, np.float32)),
                "dst": device.filled(8, DataType.kFloat),
                "count": 8,
            }
            primitive.Launch(**arguments)
            arguments["dst"] = device.filled(8, DataType.kFloat)
            arguments |= changes
            with pytest.raises(error, match=message):
                primitive.Launch(**arguments)
            if "dst" not in changes:
                assert set(device.array(arguments["dst"]).view(np.uint8)) == {0xA5}

        return check

    def test_count(self, refuses):
        refuses(ValueError, "count is -1; it must not be negative", count=-1)
        refuses(TypeError, "count must be an integer, not 8.0", count=8.0)
        refuses(TypeError, "count must be an integer, not None", count=None)
        refuses(ValueError, "src has 8 elements; at least 9 are needed", count=9)
        refuses(ValueError, "count is", count=2**70)

    def test_dtypes(self, device, refuses):
        refuses(
            TypeError, r"src has dtype float64; this primitive takes float32 \(kFloat\)", src=device.buffer(np.ones(8))
        )
        refuses(TypeError, "dst has dtype uint32", dst=device.filled(8, DataType.kUInt32))

    def test_overlap(self, device, refuses):
        memory = device.buffer(np.ones(16, np.float32))
        refuses(ValueError, "dst overlaps src", src=memory[:8], dst=memory[7:15])
        refuses(ValueError, "dst overlaps src", src=memory[1:9], dst=memory[:8])
        assert (device.array(memory) == 1).all()

    def test_elements_of_another_size_in_place(self, device):
        memory = device.buffer(np.ones(8, np.float32))
        primitive = device.require(ElementwiseUnaryFactory, UnaryOp.kIsNan, "float32", "bool")
        with pytest.raises(ValueError, match="dst overlaps src"):
            primitive.Launch(device.stream, memory, memory.view(np.bool_), 8)

    def test_streams(self, refuses):
        refuses(TypeError, "stream must be a stream", stream=None)

    def test_zero_elements_are_nothing_but_checked(self, device):
        primitive = device.require(ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")
        empty = device.buffer(np.empty(0, np.float32))
        primitive.Launch(device.stream, empty, empty, 0)
        with pytest.raises(TypeError, match="src has dtype"):
            primitive.Launch(device.stream, device.buffer(np.empty(0)), empty, 0)
