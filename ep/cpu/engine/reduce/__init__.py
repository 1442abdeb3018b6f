"""Reductions: many elements to one (Reduce), rows that are read several times (the softmaxes), sums by segments.

The order in which elements are combined follows from the shape alone, so that the bits are the same for any number of
threads.
"""
