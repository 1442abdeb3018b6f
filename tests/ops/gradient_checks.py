"""Gradients of all types, compared with central differences in float64, or with None for types without gradients."""

import ml_dtypes
import numpy as np

import ep.ops
from ep import DataType
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.ops.declare.operator import operator_named
from ep.ops.gradients import vjp
from tests.ops.gradient_cases import drawn

TYPES = tuple(one for one in DataType if one is not DataType.kChar)
STEP = 1e-6
ULPS = 32
LEAST = 2e-5
"""The tolerance of central differences in float64, relative to the sum of magnitudes."""


def call(name, inputs, attributes):
    """Return the result of an operator, or a list of results."""
    function, declared = getattr(ep.ops, name), operator_named(name)
    if name in ("concat", "stack"):
        return function(list(inputs), **attributes)
    positional, named = declared.arguments(attributes)
    return function(*inputs, *positional, **named)


def drawn_of_type(name, data_type, rng):
    """Return inputs of a data type, and attributes; as far as is known, not at points at which a slope jumps."""
    inputs, attributes = drawn(name, rng, ties=False)
    if name == "cast" and data_type in COMPLEXES:
        attributes = {"dtype": "complex128"}
    family = operator_named(name).family
    kinks = [
        *np.arange(-3, 3.5, 0.5),
        *(sign * one for one in attributes.values() if isinstance(one, float) for sign in (1, -1)),
    ]
    taken = []
    for one in inputs:
        x = one
        if x.dtype.kind not in "fc":  # indices, and conditions
            taken.append(x)
            continue
        if name in ("max", "min"):  # no two of them are equal, in any type
            bits = rng.permutation(np.arange(0x3F00, 0x3F00 + x.size, dtype=np.uint16))
            x = bits.view(ml_dtypes.bfloat16).astype(np.float64).reshape(x.shape)
        if family == "unary" and x.dtype.kind == "f":
            near = np.min(np.abs(x[..., None] - kinks), axis=-1) < 0.02
            x = np.where(near, x + 0.06, x)
        narrow = name == "resample" and taken and data_type.itemsize < 4
        taken.append(_of_type(x, DataType.kFloat if narrow else data_type, rng))  # its weights are never narrow
    return taken, attributes


def _of_type(x, data_type, rng):
    if data_type in COMPLEXES:
        return np.asarray(x if x.dtype.kind == "c" else x + 1j * rng.normal(size=x.shape), data_type.dtype)
    if data_type in FLOATS:
        return np.asarray(x.real, data_type.dtype)
    return np.asarray(np.abs(np.round(2 * x.real)), data_type.dtype)


def agrees(name, data_type, rng):
    """Return whether gradients of an operator, of drawn inputs, could be compared; AssertionError if they are wrong.

    This is not possible if the operator does not support the type, or if a slope jumps.
    """
    inputs, attributes = drawn_of_type(name, data_type, rng)
    shapes = [one.shape for one in inputs]
    case = f"{name} of {data_type.dtype}, shapes {shapes}, {attributes}"
    try:
        output = call(name, inputs, attributes)
    except UnsupportedPrimitiveError:
        return False
    several = isinstance(output, list)
    outputs = output if several else [output]
    dys = [_of_type(rng.normal(size=one.shape), DataType(_type_of(one)), rng) for one in outputs]
    found = vjp(name, inputs, attributes, output if rng.random() < 0.5 else None, dys if several else dys[0])
    assert len(found) == len(inputs), case
    by = [place for place, one in enumerate(inputs) if _type_of(one) in FLOATS + COMPLEXES]
    if _type_of(outputs[0]) not in FLOATS + COMPLEXES:
        by = []
    assert [place for place, one in enumerate(found) if one is not None] == by, case
    return all(_one_agrees(name, inputs, attributes, dys, place, found[place], rng, case) for place in by)


def _type_of(array):
    return ep.include.data_type.as_data_type(array.dtype)


def _wide(x):
    kind = _type_of(x)
    return x.astype(np.complex128 if kind in COMPLEXES else np.float64) if kind in FLOATS + COMPLEXES else x


def _one_agrees(name, inputs, attributes, dys, place, gradient, rng, case):
    """Compare the gradient by one input in a random direction; return False if the slope jumps there."""
    x = inputs[place]
    case = f"{case}: that by input {place}"
    assert (gradient.shape, gradient.dtype) == (x.shape, x.dtype), case
    direction = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    wide, wide_dys = [_wide(one) for one in inputs], [_wide(one) for one in dys]

    def value(step):
        moved = [one + step * direction if at == place else one for at, one in enumerate(wide)]
        result = call(name, moved, attributes)
        results = result if isinstance(result, list) else [result]
        return sum(float((one * by.conj()).sum().real) for one, by in zip(results, wide_dys, strict=True))

    g = _wide(gradient)
    assert np.isfinite(g).all(), case
    largest = max((float(np.abs(one).max()) for one in wide_dys if one.size), default=0.0)
    scale = float((np.abs(g) * np.abs(direction)).sum() + largest * np.abs(direction).sum())
    eps = float(ml_dtypes.finfo(x.dtype).eps)
    tolerance = max(ULPS * eps, LEAST) * scale + 1e-9
    at, more, less = value(0), value(STEP), value(-STEP)
    if abs((more - at) - (at - less)) / STEP > LEAST * scale + 1e-8:
        return False
    slope, expected = (more - less) / (2 * STEP), float((g.conj() * direction).sum().real)
    assert abs(slope - expected) <= tolerance, f"{case} is {expected} and not {slope} in a direction"
    return True


def check(name, data_type, rng, draws=8):
    """Draw until gradients can be compared; return whether they were."""
    return any(agrees(name, data_type, rng) for _ in range(draws))
