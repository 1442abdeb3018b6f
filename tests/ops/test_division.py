"""`/` of arrays of a device, lazy arrays and tensors: exact, so refused for integers and bool."""

import operator

import numpy as np
import pytest

import ep
import ep.ops
from ep import DataType
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

EXACT = FLOATS + COMPLEXES
TRUNCATED = [one for one in DataType if one not in EXACT and one is not DataType.kChar]
FORMS = {
    "an array": lambda x: x / x,
    "a number": lambda x: x / 2,
    "a fraction": lambda x: x / 2.5,
    "of a number": lambda x: 2 / x,
    "in place": lambda x: operator.itruediv(x, 2),
}


def assigned(form):
    """Return the function that computes a form in a block, of views."""

    def block(x):
        with ep.lazy() as lazy:
            form(lazy.view(x))

    return block


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("data_type", TRUNCATED, ids=lambda one: one.name)
def test_integers_and_bool_are_refused(data_type, form, device):
    """The error names the operand, `//` and astype; the array is unchanged."""
    given = np.array([1, 0, 1, 1, 0, 1, 1]).astype(data_type.dtype)
    x, divide = placed(device, given), FORMS[form]
    computed = [ep.fuse(divide), assigned(divide)] + ([] if isinstance(x, np.ndarray) else [divide])
    for function in computed:
        with pytest.raises(TypeError, match=rf"[xy] has dtype {data_type.dtype}; .* use x // y, .*astype\("):
            function(x)
    assert np.array_equal(host(x), given)


@pytest.mark.parametrize("data_type", EXACT, ids=lambda one: one.name)
def test_exact_types_are_divided(data_type, device):
    """As by `ep.ops.div`, with arrays and numbers in both orders, in place, and with gradients."""
    given = np.array([1, -2, 3, 0.5, 7]).astype(data_type.dtype)
    x = placed(device, given)
    for y in (placed(device, given[::-1].copy()), 3):
        for one, other in ((x, y), (y, x)):
            wanted = host(ep.ops.div(one, other))
            assert np.array_equal(host(ep.fuse(operator.truediv)(one, other)), wanted)
            assert np.array_equal(host(ep.ops.divide(one, other)), wanted)
    with ep.lazy() as lazy:
        view = lazy.view(x)
        view /= 4
    assert np.array_equal(host(x), host(ep.ops.div(given, 4)))


def test_a_gradient(device):
    x = placed(device, np.array([1.0, 2, 4]))
    assert host(ep.grad(lambda x: ep.ops.sum(8 / x))(x)).tolist() == [-8, -2, -0.5]


def test_the_function_is_as_the_operator(device):
    x = placed(device, np.array([7, -7]))
    for divide in (ep.ops.divide, ep.fuse(ep.ops.divide)):
        for one, other in ((x, x), (x, 2), (2, x), (1, 2)):
            with pytest.raises(TypeError, match="use x // y"):
                divide(one, other)
    assert host(ep.ops.div(x, 2)).tolist() == [3, -3]  # as OneFlow's kDiv
    assert host(ep.fuse(lambda x: ep.ops.div(x, 2))(x)).tolist() == [3, -3]
    assert host(ep.fuse(lambda x: x // 2)(x)).tolist() == [3, -4]
