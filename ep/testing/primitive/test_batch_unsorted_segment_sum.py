"""BatchUnsortedSegmentSum: every pair of types, the order of rows, ids out of range, and invalid arguments."""

from ep.include.primitive import BatchUnsortedSegmentSumFactory
from ep.testing.segment_tests import segment_tests

TestRows = segment_tests(BatchUnsortedSegmentSumFactory, batch=3)
