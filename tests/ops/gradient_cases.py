"""Random calls of operators that have a gradient: shapes, axes, broadcasting, and the values of indices."""

import numpy as np

import ep.ops  # noqa: F401  declares the operators
from ep.ops.declare.operator import operator_named, operators

RULES = {one.name: one.gradient for one in operators() if one.gradient is not None}
"""The gradient of each operator that has one."""

COMPLEX = ("conj", "real", "imag", "real_grad", "imag_grad")
"""Operators with complex operands or results."""

DOMAINS = {
    "acosh": (1.2, 3),
    **dict.fromkeys(["acos", "asin", "atanh"], (-0.8, 0.8)),
    **dict.fromkeys(["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma", "trigamma"], (0.3, 3)),
    **dict.fromkeys(["reciprocal", "reciprocal_no_nan", "tan"], (0.4, 1.2)),
}


def a_shape(rng, least=0, most=4, sizes=5):
    """Return the sizes of some axes; now and then one size is 0."""
    shape = rng.integers(1, sizes + 1, rng.integers(least, most + 1))
    if shape.size and rng.random() < 0.15:
        shape[rng.integers(shape.size)] = 0
    return tuple(map(int, shape))


def broadcasting(rng, shape):
    """Return a shape that broadcasts to `shape`."""
    kept = shape[rng.integers(len(shape) + 1) :]
    return tuple(1 if rng.random() < 0.3 else size for size in kept)


def an_axis(rng, num_dims):
    return int(rng.integers(-num_dims, num_dims))


def of_unary(name, rng):
    attributes = {
        "threshold": {"threshold": 0.3, "value": -1.5},
        "hard_tanh": {"min": -0.7, "max": 1.3},
        "soft_plus": {"beta": 1.5, "threshold": 2.0},
        "elu": {"alpha": 0.7},
        "celu": {"alpha": 0.7},
    }
    return [rng.uniform(*DOMAINS.get(name, (-2.3, 2.3)), a_shape(rng))], attributes.get(name, {})


def of_complex(name, rng):
    shape = a_shape(rng)
    real = rng.normal(size=shape)
    return [real if name.endswith("_grad") else real + 1j * rng.normal(size=shape)], {}


def of_binary(name, rng, ties=True):
    shape = a_shape(rng)
    shapes = [shape, broadcasting(rng, shape)]
    x, y = (rng.uniform(0.5, 3, one) for one in (shapes if rng.random() < 0.5 else shapes[::-1]))
    if ties and name in ("maximum", "minimum"):
        x, y = np.round(x), np.round(y)
    return [x, y], {}


def of_gather(rng):
    shape = a_shape(rng, least=1)
    axis = int(rng.integers(len(shape)))
    shape = (*shape[:axis], shape[axis] or 3, *shape[axis + 1 :])
    batch_dims = int(rng.integers(axis + 1)) if 0 not in shape else 0
    mode = str(rng.choice(["raise", "zero", "clip", "wrap_negative"]))
    size = shape[axis]
    among = {"raise": (0, size), "wrap_negative": (-size, size)}.get(mode, (-2, size + 2))
    indices = rng.integers(*among, (*shape[:batch_dims], *a_shape(rng, most=2)))
    return [rng.normal(size=shape), indices], {"axis": axis, "batch_dims": batch_dims, "mode": mode}


def of_scatter_rows(rng):
    """Without a reduction each row is named once: autograd takes all updates of a row for the last one."""
    (x, indices), attributes = of_gather(rng)
    axis, batch_dims = attributes["axis"], attributes["batch_dims"]
    reduction = str(rng.choice(["none", "add", "mul", "max", "min"]))
    if attributes["mode"] == "zero" or reduction == "none":
        attributes["mode"] = "raise"
    size, batch = x.shape[axis], x.shape[:batch_dims]
    if attributes["mode"] == "raise":
        indices = rng.integers(0, size, indices.shape)
    if reduction == "none":
        indices = np.argsort(rng.random((*batch, size)), -1)[..., : rng.integers(size + 1)]
    updates = rng.normal(size=(*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :]))
    return [x, indices, updates], {**attributes, "reduction": reduction}


def of_gather_grad(rng):
    (params, indices), given = of_gather(rng)
    gather = operator_named("gather")
    dy = rng.normal(size=gather.shape([params.shape, indices.shape], gather.resolve(params, indices, **given))[0])
    return [dy, indices], {"shape": params.shape, **given}


def of_resample(rng):
    shape = a_shape(rng, least=1)
    axis = int(rng.integers(len(shape)))
    table = tuple(map(int, rng.integers(0, 4, 2)))
    places = rng.integers(-1, shape[axis] + 1, table)
    return [rng.normal(size=shape), places, rng.normal(size=table)], {"axis": axis}


def of_segment_sum(rng):
    shape = a_shape(rng, least=1)
    axis = int(rng.integers(len(shape)))
    return [rng.normal(size=shape), rng.integers(-2, 5, shape[axis])], {"num_segments": 3, "axis": axis}


def of_where(rng):
    shape = a_shape(rng)
    shapes = [broadcasting(rng, shape) for _ in range(3)]
    return [rng.random(shapes[0]) < 0.5, *(rng.normal(size=one) for one in shapes[1:])], {}


def of_expand(rng):
    sizes = a_shape(rng)
    return [rng.normal(size=broadcasting(rng, sizes))], {"sizes": sizes}


def of_repeat(rng):
    shape = a_shape(rng, most=3)
    return [rng.normal(size=shape)], {"sizes": (*a_shape(rng, most=1), *map(int, rng.integers(0, 4, len(shape))))}


def of_permute(rng):
    shape = a_shape(rng)
    return [rng.normal(size=shape)], {"axes": tuple(map(int, rng.permutation(len(shape))))}


def of_pad(rng):
    shape = a_shape(rng, least=1, sizes=7)
    return [rng.normal(size=shape)], {
        "pad_width": tuple((int(rng.integers(-(size // 2), 3)), int(rng.integers(-(size // 3), 3))) for size in shape)
    }


def of_slice(rng):
    shape = a_shape(rng, sizes=9)
    ends = [sorted(map(int, rng.integers(0, size + 1, 2))) for size in shape]
    return [rng.normal(size=shape)], {"slices": tuple(slice(*pair, int(rng.integers(1, 4))) for pair in ends)}


def of_split(rng):
    shape = a_shape(rng, least=1, sizes=9)
    axis = int(rng.integers(len(shape)))
    ends = sorted(map(int, rng.integers(0, shape[axis] + 1, rng.integers(1, 4))))
    return [rng.normal(size=shape)], {"indices_or_sections": ends, "axis": axis}


def of_concat(rng):
    shape = a_shape(rng, least=1)
    axis = None if rng.random() < 0.3 else an_axis(rng, len(shape))
    sizes = rng.integers(0, 5, rng.integers(1, 4))
    shapes = [(*shape[: axis or 0], int(size), *shape[axis or 0 :][1:]) for size in sizes]
    return [rng.normal(size=one) for one in shapes], {"axis": axis}


def of_stack(rng):
    shape = a_shape(rng)
    return [rng.normal(size=shape) for _ in range(rng.integers(1, 4))], {"axis": an_axis(rng, len(shape) + 1)}


def of_matmul(rng):
    batch = a_shape(rng, most=2)
    m, n, k = map(int, rng.integers(0, 6, 3))
    transposes = [bool(rng.integers(2)) for _ in range(2)]
    a, b = ((k, m) if transposes[0] else (m, k)), ((n, k) if transposes[1] else (k, n))
    shapes = [(*broadcasting(rng, batch), *a), (*broadcasting(rng, batch), *b)]
    if rng.random() < 0.3:
        shapes[0], transposes[0] = (k,), False
    if rng.random() < 0.3:
        shapes[1], transposes[1] = (k,), False
    names = ("transpose_x1", "transpose_x2")
    return [rng.normal(size=one) for one in shapes], dict(zip(names, transposes, strict=True))


def of_conv(rng):
    """Draw a convolution: windows may have gaps, overlap, or exceed x; now and then there is no image, channel or
    filter.
    """
    groups, num_axes = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    batch, channels, filters = (int(rng.integers(low, 3)) for low in (0, 0, 0))
    strides, dilations, kernel = (tuple(map(int, rng.integers(1, 4, num_axes))) for _ in range(3))
    pads = tuple(map(int, rng.integers(0, 5, 2 * num_axes)))
    spans = [far * (places - 1) + 1 for far, places in zip(dilations, kernel, strict=True)]
    sizes = [max(0, int(span - sum(pads[axis::num_axes]) + rng.integers(4))) for axis, span in enumerate(spans)]
    shapes = (batch, groups * channels, *sizes), (groups * filters, channels, *kernel)
    attributes = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
    return [rng.normal(size=shape) for shape in shapes], attributes


def _of_windows(rng):
    """Return a kernel, sizes, and attributes such that each window has an element of x; now and then there is no
    window.
    """
    num_axes = int(rng.integers(1, 4))
    strides, dilations, kernel = (tuple(map(int, rng.integers(1, 4, num_axes))) for _ in range(3))
    reach = [far * (places - 1) for far, places in zip(dilations, kernel, strict=True)]
    pads = tuple(int(rng.integers(0, one + 1)) for one in reach * 2)
    sizes = tuple(int(far + rng.integers(4)) for far in dilations)
    return kernel, sizes, {"strides": strides, "pads": pads, "dilations": dilations}


def of_max_pool(rng):
    kernel, sizes, given = _of_windows(rng)
    given["ceil_mode"] = bool(rng.integers(2))
    return [rng.normal(size=(2, int(rng.integers(3)), *sizes))], {"kernel": kernel, **given}


def of_average_pool(rng):
    inputs, given = of_max_pool(rng)
    return inputs, {**given, "count_include_pad": bool(rng.integers(2))}


def of_average_pool_grad(rng):
    (x,), given = of_average_pool(rng)
    pool = operator_named("average_pool")
    dy = rng.normal(size=pool.shape([x.shape], pool.resolve(x, **given))[0])
    return [dy], {"shape": x.shape, **given}


def of_unfold(rng):
    kernel, sizes, given = _of_windows(rng)
    return [rng.normal(size=(2, int(rng.integers(3)), *sizes))], {"kernel": kernel, **given}


def of_fold(rng):
    (x,), given = of_unfold(rng)
    kernel = given.pop("kernel")
    windows = operator_named("unfold").shape([x.shape], {"kernel": kernel, **given})[0]
    return [rng.normal(size=windows)], {"sizes": x.shape[2:], **given}


def of_cast(rng):
    dtype = str(rng.choice(["float64", "complex128"]))
    return [rng.normal(size=a_shape(rng))], {"dtype": dtype}


def of_reduction(name, rng, ties=True):
    shape = a_shape(rng)
    if name in ("max", "min"):
        shape = tuple(size or 2 for size in shape)
    axis = {0: None, 1: an_axis(rng, len(shape)) if shape else None}.get(int(rng.integers(3)), ())
    if axis == ():
        axis = tuple(map(int, rng.permutation(len(shape))[: rng.integers(len(shape) + 1)]))
    whole = name == "mean" and 0 in shape
    x = rng.normal(size=tuple(size or 1 for size in shape) if whole else shape)
    if ties and name in ("max", "min"):
        x = np.round(x)
    return [x], {"axis": axis, "keepdims": bool(rng.integers(2))}


def of_softmax(name, rng):
    shape = a_shape(rng, least=1)
    return [rng.normal(size=shape)], {"axis": an_axis(rng, len(shape))}


def of_scan(rng):
    """Draw elements of a scan, some of them 0."""
    shape = a_shape(rng, least=1, sizes=9)
    x = rng.normal(size=shape) * (rng.random(shape) < 0.9)
    given = {name: bool(rng.integers(2)) for name in ("include_initial", "reverse")}
    return [x], {"axis": an_axis(rng, len(shape)), **given}


def drawn(name, rng, ties=True):
    """Return inputs and attributes of an operator with a gradient; ties: whether some compared elements are equal."""
    family = operator_named(name).family
    if name in COMPLEX:
        return of_complex(name, rng)
    if family == "unary":
        return of_unary(name, rng)
    if family in ("binary", "reduce"):
        return (of_binary if family == "binary" else of_reduction)(name, rng, ties)
    if family == "scan":
        return of_scan(rng)
    return of_softmax(name, rng) if family == "softmax" else globals()[f"of_{name}"](rng)
