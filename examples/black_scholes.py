"""Prices of European options, calls and puts in one kernel: `python -m examples.black_scholes`."""

from __future__ import annotations

import numpy as np

import ep


@ep.fuse
def prices(spot, strike, years, rate, volatility):
    """Return the prices of calls and puts by Black and Scholes."""
    deviation = volatility * ep.ops.sqrt(years)
    d1 = (ep.ops.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * ep.ops.exp(-rate * years)
    call = spot * _normal(d1) - discounted * _normal(d2)
    return call, call - spot + discounted


def _normal(x):
    """Return the probability that a normal variable is at most x."""
    return 0.5 * ep.ops.erfc(x * -(0.5**0.5))


def main() -> None:
    """Print the prices of a few options, and the kernels that compute them."""
    spot = np.linspace(80, 120, 5)
    strike, years = np.full(5, 100.0), np.full(5, 0.5)
    call, put = prices(spot, strike, years, 0.05, 0.2)
    for one in zip(spot, call, put, strict=True):
        print("spot {:6.2f}: call {:7.4f}, put {:7.4f}".format(*one))
    print(prices.explain(spot, strike, years, 0.05, 0.2))


if __name__ == "__main__":
    main()
