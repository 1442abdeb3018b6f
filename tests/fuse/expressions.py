"""The expressions of the benchmarks, one that ends in a stack of arrays, and losses made from all of them."""

from benchmarks.fuse import expressions

ROWS, COLUMNS = 5, 12


def stacked_yuv_to_rgb(ops, y, u, v):
    return ops.stack(list(expressions.yuv_to_rgb(ops, y, u, v)), 0)


EXPRESSIONS = {
    **expressions.EXPRESSIONS,
    "YUV to RGB in one array": expressions.Expression(stacked_yuv_to_rgb, expressions.EXPRESSIONS["YUV to RGB"].draw),
}


def losses(ops, name, rng):
    """Return a function of an expression's arrays with one number as result, the weighted sum of all its results, and
    the arrays.
    """
    expression = EXPRESSIONS[name]
    arrays = expression.draw(rng, ROWS, COLUMNS)
    results = expression.function(ops, *arrays)
    weights = [rng.normal(size=one.shape) for one in (results if isinstance(results, tuple) else (results,))]

    def loss_of(weights, *arrays):
        results = expression.function(ops, *arrays)
        results = results if isinstance(results, tuple) else (results,)
        total = 0.0
        for result, weight in zip(results, weights, strict=True):
            total = ops.sum(result * weight, None) + total
        return total

    return loss_of, weights, arrays
