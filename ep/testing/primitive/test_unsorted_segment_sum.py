"""UnsortedSegmentSum: every pair of types, the order of rows, ids out of range, and invalid arguments."""

from ep.include.primitive import UnsortedSegmentSumFactory
from ep.testing.segment_tests import segment_tests

TestRows = segment_tests(UnsortedSegmentSumFactory, batch=1)
