"""Names of other libraries: errors name the function of `ep.ops`."""

import numpy as np
import pytest

import ep
import ep.ops
from ep.include.synonyms import SYNONYMS


def test_every_synonym():
    """No name of ours is one, and each means a function that there is."""
    assert not SYNONYMS.keys() & {*ep.ops.__all__}
    for other, ours in SYNONYMS.items():
        module = ep.ops if ours in ep.ops.__all__ else ep
        assert hasattr(module, ours)
        with pytest.raises(AttributeError, match=f"has no attribute '{other}'; did you mean '{ours}'"):
            getattr(module, other)


def test_where_operators_are_named():
    for other, ours in (("take", "gather"), ("power", "pow"), ("concatenate", "concat"), ("bmm", "matmul")):
        with pytest.raises(ValueError, match=rf"there is no operator '{other}'; did you mean '{ours}'\?"):
            ep.ops.vjp(other, [], {}, None, 1)


def test_functions_of_numpy():
    x = np.ones((2, 3))
    for function, ours in (
        (lambda x: np.take(x, [0]), "gather"),
        (lambda x: np.hstack([x, x]), "concat"),
        (lambda x: np.swapaxes(x, 0, 1), "permute"),
        (lambda x: np.ravel(x), "reshape"),
        (lambda x: np.float_power(x, 2), "pow"),
    ):
        with pytest.raises(TypeError, match=rf"numpy\.\w+ takes arrays of the host alone; use ep.ops.{ours}$"):
            ep.fuse(function)(x)
    with pytest.raises(TypeError, match=r"numpy.median: a NumPy array of an array that is not computed yet"):
        ep.fuse(lambda x: np.median(x))(x)


def test_a_similar_name():
    with pytest.raises(AttributeError, match="has no attribute 'concatt'; did you mean 'concat'"):
        _ = ep.ops.concatt


def test_a_function_of_numpy_is_not_one_with_a_similar_name():
    for name in ("trapezoid", "nanargmin", "tril", "linalg", "nansum", "lexsort", "diff"):
        with pytest.raises(AttributeError, match=rf"^module 'ep.ops' has no attribute '{name}'$"):
            getattr(ep.ops, name)
        with pytest.raises(ValueError, match=rf"^there is no operator '{name}'$"):
            ep.ops.vjp(name, [], {}, None, 1)
