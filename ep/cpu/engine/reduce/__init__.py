"""The reduce engine: reductions (Reduce), rows that are read several times (the softmaxes), and sums by segments.

The order in which elements are combined depends on the shape only, so results have the same bits for any number of
threads.
"""
