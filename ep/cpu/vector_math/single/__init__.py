"""Elementary functions in float32 arithmetic, on float32 values: twice as many at a time as in float64.

Accuracy that float64 gives for free is achieved explicitly: a rounding error that would be too large is carried along
in a second number, and results below the normal numbers are scaled at the end, so that they are rounded once.
"""
