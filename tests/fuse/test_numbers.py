"""Numbers in the source of a fused function: the bits of the operators one by one, which read them from memory."""

import itertools

import numpy as np
import pytest

import ep
from ep import UnsupportedPrimitiveError
from ep.include.number_kind import FLOATS, INTEGERS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import OPS, function_name
from ep.include.primitive.unary_op import UnaryOp
from ep.ops import copy_to_host as host
from ep.ops.names import parameter_name
from ep.testing.samples import samples, sized
from tests.fuse.placing import placed
from tests.fuse.test_random_graphs import bits

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 7.0, 10.0, -3.0, 0.1, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1e300]
ATTRIBUTES = [*NUMBERS[:10], 1e-3, 20.0]
BINARY = [op for op in BinaryOp if set(OPS[op].takes) & set(FLOATS)]
UNARY = [op for op in UnaryOp if OPS[op].attributes]


@pytest.fixture
def compare(device, one_by_one):
    """A function that compares what `of_both_orders` returns, of x and numbers: all of them in its source, and each one
    as an argument, a 0-d array and a whole array. Arguments are words of a launch: one kernel has all numbers.
    """

    def compare(function, x, *numbers):
        def in_source(x):
            return function(x, *numbers)

        scalars = [np.array(number).astype(x.dtype) for number in numbers]
        array, arrays = placed(device, x), [placed(device, np.full(x.shape, one)) for one in scalars]
        wanted = [bits(host(one)) for one in one_by_one(function, array, *arrays)]
        for found in (ep.fuse(in_source)(array), one_by_one(in_source, array)):
            assert [bits(host(one)) for one in found] == wanted
        of_one = ep.fuse(function)
        for k, number in enumerate(numbers):
            for given in (placed(device, scalars[k]), number, arrays[k]):
                assert [bits(host(one)) for one in of_one(array, given)] == [*wanted[2 * k : 2 * k + 2], wanted[-1]]

    return compare


def of_both_orders(op, given):
    """Return the function (x, numbers) -> the results of an op on x and each number, and on each number and x."""
    apply = getattr(ep.ops, function_name(op))

    def function(x, *numbers):
        # a second kind of step, so that no kernel is one operator's own
        pairs = [(apply(x, one, **given), apply(one, x, **given)) for one in numbers]
        return *itertools.chain(*pairs), ep.ops.negative(x)

    return function


def draw(rng, device, data_type):
    """Return numbers with which ops differ: of every magnitude, and above 1 as zeta needs them."""
    count = sized(device, 500, 40)
    drawn = [samples(rng, data_type, count), rng.uniform(1, 40, count), np.array(NUMBERS), rng.integers(-9, 9, count)]
    with np.errstate(over="ignore"):
        return np.concatenate([one.astype(data_type.dtype) for one in drawn])


def held(numbers, data_type):
    """Return the numbers that do not become infinite in a type."""
    with np.errstate(over="ignore"):
        return [one for one in numbers if np.isfinite(np.array(one).astype(data_type.dtype)) == np.isfinite(one)]


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda one: one.name)
@pytest.mark.parametrize("expression", BINARY, ids=lambda op: op.name)
def test_operands(expression, data_type, device, rng, compare):
    given = {parameter_name(one): 2.5 for one in OPS[expression].attributes if one.default is None}
    numbers = rng.choice(held(NUMBERS, data_type), 3, replace=False)
    try:
        compare(of_both_orders(expression, given), draw(rng, device, data_type), *map(float, numbers))
    except UnsupportedPrimitiveError:
        pytest.skip("the device has no such key")


def test_several_numbers_as_arguments(device, rng, one_by_one):
    """Each one is used at its own place, in whichever form the others come."""
    x = rng.normal(size=67).astype(np.float32)
    array, forms = placed(device, x), []
    for number in (2.5, -3.0, 0.1):
        scalar = np.array(number, np.float32)
        forms.append((number, placed(device, scalar), placed(device, np.full(x.shape, scalar))))

    def function(x, a, b, c):
        return x * a + b, (x - c) * b, c / x

    fused, wanted = ep.fuse(function), [bits(host(one)) for one in one_by_one(function, array, *(f[-1] for f in forms))]
    for given in itertools.product(*forms):
        assert [bits(host(one)) for one in fused(array, *given)] == wanted


@pytest.mark.parametrize("number", [7.0, 2.0, 0.5, 3.0])
def test_powers_of_a_number_in_zeta(number, device, rng, compare):
    """C compilers know some powers of a constant, such as those of 8 = 7 + 1, and compute them in another way."""
    x = rng.uniform(1.01, 40, sized(device, 1009, 67))
    compare(of_both_orders(BinaryOp.kZeta, {}), x, number)


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda one: one.name)
@pytest.mark.parametrize("expression", UNARY, ids=lambda op: op.name)
def test_attributes(expression, data_type, device, rng, one_by_one):
    """Attributes are numbers in the source of a kernel, and arguments of an operator that is called alone."""
    apply, x = getattr(ep.ops, function_name(expression)), placed(device, draw(rng, device, data_type))
    names = [parameter_name(one) for one in OPS[expression].attributes]
    given = [dict(zip(names, map(float, rng.choice(ATTRIBUTES, len(names))), strict=True)) for _ in range(3)]

    def function(x):
        return *(apply(x, **one) for one in given), ep.ops.negative(x)

    wanted = [bits(host(apply(x, **one))) for one in given] + [bits(host(ep.ops.negative(x)))]
    for found in (ep.fuse(function)(x), one_by_one(function, x)):
        assert [bits(host(one)) for one in found] == wanted


WRAPPING = {
    "a sum above": lambda x, least: x + 1 > x,
    "a difference below": lambda x, least: x - 1 < x,
    "a square": lambda x, least: x * x >= 0,
    "a multiple": lambda x, least: ep.ops.trunc_div(x * 2, 2),
    "a floored multiple": lambda x, least: x * 3 // 3,
    "a difference of zero": lambda x, least: 0 - x > 0,
    "the least number": lambda x, least: (x + least, x - least, x * least),
    "a power": lambda x, least: ep.ops.pow(x, 3) >= x,
    "a magnitude": lambda x, least: ep.ops.abs(x) >= 0,
}


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda one: one.name)
@pytest.mark.parametrize("name", WRAPPING)
def test_integers_wrap(name, data_type, device, rng, one_by_one):
    """A compiler may take a sum of signed numbers for one that does not overflow, unless it is told otherwise."""
    info = np.iinfo(data_type.dtype)
    drawn = rng.integers(info.min, info.max, 67, data_type.dtype, endpoint=True)
    near = np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], data_type.dtype)
    x, function = placed(device, np.concatenate([near, drawn])), WRAPPING[name]

    def fused(x):
        found = function(x, int(info.min))
        return found if isinstance(found, tuple) else (found, ep.ops.equal(x, x))

    try:
        wanted = one_by_one(fused, x)
    except UnsupportedPrimitiveError:
        pytest.skip("the device has no such key")
    assert [bits(host(one)) for one in ep.fuse(fused)(x)] == [bits(host(one)) for one in wanted]
