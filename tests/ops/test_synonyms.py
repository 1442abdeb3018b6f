"""Names of other libraries: errors name the function of `ep.ops`."""

import numpy as np
import pytest

import ep
import ep.ops
from ep.include.synonyms import SYNONYMS


def test_every_synonym():
    """No name of ours is one, and each means a function that there is."""
    assert not SYNONYMS.keys() & {*ep.ops.__all__}
    assert {*SYNONYMS.values()} <= {*ep.ops.__all__}
    for other, ours in SYNONYMS.items():
        with pytest.raises(AttributeError, match=f"has no attribute '{other}'; did you mean '{ours}'"):
            getattr(ep.ops, other)


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
        with pytest.raises(TypeError, match=f"use ep.ops.{ours}"):
            ep.fuse(function)(x)


def test_a_similar_name():
    with pytest.raises(AttributeError, match="has no attribute 'concatt'; did you mean 'concat'"):
        _ = ep.ops.concatt
