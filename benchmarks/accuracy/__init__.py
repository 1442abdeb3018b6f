"""The accuracy of the unary functions: errors in ulps over the whole domain, compared with peers.

Run from the root of the sources: `python -m benchmarks.accuracy --dtype float64 --ops kExp kGelu`.

The exact values are those of the tests' references, in long double or, number by number, in mpmath. An error is
|got - exact| in spacings of the type at the exact value; a result beyond the largest number counts as infinity, and the
mean is over the arguments whose exact value is finite. `sums.py` is a separate program for softmaxes, sums and means.
"""
