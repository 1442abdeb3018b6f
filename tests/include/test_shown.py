"""Messages stay short, whatever value they show."""

import numpy as np
import pytest

import ep
from ep.include.primitive import AddFactory
from ep.include.shown import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.5, "3.5"),
        ("x", "'x'"),
        (np.float32(2), "np.float32(2.0)"),
        (np.zeros(()), "array(0.)"),
        (np.zeros((3, 0), np.int8), "ndarray of shape (3, 0), int8"),
        ("x" * 300, "'" + "x" * 199 + "..."),
    ],
)
def test_texts(value, text):
    assert shown(value) == text


def test_an_array_where_a_number_belongs():
    x = np.zeros((50, 50), np.float32)
    with pytest.raises(TypeError, match=r"^axis is ndarray of shape \(50, 50\), float32; max takes one array"):
        ep.ops.max(x, x)
    with pytest.raises(TypeError, match=r"not ndarray of shape \(50, 50\), float32$"):
        ep.NewPrimitive(AddFactory, ep.DeviceType.kCPU, x)
