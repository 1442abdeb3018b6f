"""SoftmaxBackward: the tests of all softmaxes."""

from ep.testing import rows
from ep.testing.row_tests import row_tests

TestRows = row_tests(rows.SOFTMAX_BACKWARD)
