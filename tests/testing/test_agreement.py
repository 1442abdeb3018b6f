"""The checks of the suite find wrong results, and accept results that depend on the last bit of float64."""

import numpy as np
import pytest

from ep import BinaryOp
from ep.include import DataType
from ep.testing.agreement import check_binary
from ep.testing.tolerances import Library

THREE, TWO = np.array([3], np.int8), np.array([2], np.int8)


@pytest.mark.parametrize(
    ("library", "got", "good"),
    [
        (Library.LIBDEVICE, 53, True),
        (Library.LIBDEVICE, 54, True),
        (Library.LIBDEVICE, 52, False),
        (Library.LIBDEVICE, 55, False),
        (Library.VECTOR_MATH, 54, True),
        (Library.VECTOR_MATH, 53, False),
    ],
)
def test_a_result_that_is_truncated_from_float64(library, got, good):
    """The exact result is 3 * 3^2 * 2 = 54; a power with an error of one bit gives 53.99, which is truncated."""
    arguments = library, BinaryOp.kScalarBasePowerGrad, DataType.kInt8, np.array([got], np.int8), THREE, TWO, (3.0,)
    if good:
        check_binary(*arguments)
    else:
        with pytest.raises(AssertionError, match="54"):
            check_binary(*arguments)
