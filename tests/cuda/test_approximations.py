"""Functors in which every approximation of a GPU is off by its full error bound, as documented in the PTX ISA."""

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.include import DataType
from ep.include.primitive import BroadcastElementwiseBinaryFactory, ElementwiseUnaryFactory
from ep.testing.agreement import check_binary, check_unary
from ep.testing.keys import those_keys
from ep.testing.primitive import test_broadcast_elementwise_binary as binary
from ep.testing.primitive import test_elementwise_unary as unary
from ep.testing.samples import operands, samples
from ep.testing.tolerances import SLOW_BINARY_REFERENCE, Library
from tests.cuda.ptx_kernels import program
from tests.cuda.ptx_machine.driver import PtxDriver
from tests.cuda.ptx_machine.instructions.deviation import RELATIVE
from tests.cuda.ptx_machine.machine import address_range

COUNT = 4099


@pytest.fixture(params=[1, -1], ids=["above", "below"])
def deviation(request, device):
    """Make approximations off by their error bounds, all above the exact results or all below."""
    driver = device.device.driver
    if not isinstance(driver, PtxDriver):
        pytest.skip("a GPU approximates as it does")
    before, driver.deviation = driver.deviation, request.param
    yield request.param
    driver.deviation = before


def of_float32(ops):
    return [(op, DataType.kFloat, DataType.kFloat) for op in ops]


def check_one_unary(device, rng, key):
    op, src_type, _ = key
    src = samples(rng, src_type, COUNT)
    got = unary.launch(device, key, src, *unary.REQUIRED.get(op, ()))
    check_unary(Library.APPROXIMATED, op, src_type, got, src, unary.default_attributes(op))


@those_keys(ElementwiseUnaryFactory, *of_float32((UnaryOp.kSilu, UnaryOp.kQuickGelu)))
def test_gated_activations(device, cuda, rng, key, deviation):
    check_one_unary(device, rng, key)


@those_keys(
    ElementwiseUnaryFactory,
    *(
        (op, data_type, data_type)
        for op in (UnaryOp.kGelu, UnaryOp.kFastGelu, UnaryOp.kSilu, UnaryOp.kQuickGelu)
        for data_type in (DataType.kFloat16, DataType.kBFloat16)
    ),
)
def test_activations_of_all_numbers_of_16_bits(device, cuda, key, deviation):
    op, data_type, _ = key
    src = np.arange(2**16, dtype=np.uint16).view(data_type.dtype)
    got = unary.launch(device, key, src)
    check_unary(Library.APPROXIMATED, op, data_type, got, src, unary.default_attributes(op))


@pytest.mark.ep_long
@those_keys(ElementwiseUnaryFactory, *of_float32(UnaryOp))
def test_unary(device, cuda, rng, key, deviation):
    check_one_unary(device, rng, key)


@pytest.mark.ep_long
@those_keys(BroadcastElementwiseBinaryFactory, *of_float32(BinaryOp))
def test_binary(device, cuda, rng, key, deviation):
    op, src_type, _ = key
    a, b = operands(rng, op, src_type, 257 if op in SLOW_BINARY_REFERENCE else COUNT)
    attributes = binary.default_attributes(op)
    given = attributes if op in binary.REQUIRED else ()
    got = binary.launch(device, key, a, b, *given)
    check_binary(Library.APPROXIMATED, op, src_type, got, a, b, attributes)


def test_results_are_off_by_the_bound_of_the_instruction(device, cuda, deviation):
    """Results that are exact on a GPU stay exact: powers of two, and all operations that are not approximated."""
    kernel = program("ld.global.f32 %f1, [%out];\nex2.approx.f32 %f2, %f1;\nst.global.f32 [%out], %f2;")
    for exponent, exact in ((0.5, 2**0.5), (-3.0, 0.125), (7.0, 128.0)):
        out = np.array([exponent], np.float32)
        kernel.launch((1, 1, 1), (1, 1, 1), 0, [out.ctypes.data], [address_range(out)], deviation)
        off = 0 if exponent % 1 == 0 else deviation * RELATIVE["ex2"]
        assert out[0] == np.float32(exact * (1 + off))
