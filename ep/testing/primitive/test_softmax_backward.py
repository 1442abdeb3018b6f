"""SoftmaxBackward: the tests of all softmaxes."""

from ep.testing import softmaxes
from ep.testing.softmax_tests import softmax_tests

TestRows = softmax_tests(softmaxes.SOFTMAX_BACKWARD)
