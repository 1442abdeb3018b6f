"""Rows to one value each: reductions. The place of Reduce, the softmaxes and UnsortedSegmentSum.

A `Reduction` combines the elements of a row, each after a functor of its own, and stores what another functor makes of
the result. The order in which elements are combined follows from the length of the row alone, so that the bits are the
same for any number of threads: lanes of a block, then the blocks of a segment, then the segments of a row, each as a
tree. The error of a sum grows with their depth, at most 32 roundings at 2^20 elements and two or three as a rule, and
not with the length.

A primitive that needs a row's value to go back over the row, as a softmax does with the largest element and the sum,
runs one reduction after the other and a row kernel of the map engine with the values as operands that are broadcast.
A reduction over other than the last axes takes its rows from the move engine, a tile at a time, as the map engine does.
"""
