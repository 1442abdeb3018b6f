"""Elementary functions in float32 arithmetic, on float32 values: twice as many at a time as in float64.

What float64 gives for nothing is done by hand: where a rounding error would be too much, it is carried along in a
second number; results below the normal numbers are scaled at the end, so that they are rounded once.
"""
