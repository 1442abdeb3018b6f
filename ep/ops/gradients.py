"""vjp: the gradients of an operator's inputs, from that of its result. Here is the rule of each operator.

A rule computes with operators alone, so it runs on any device. Sums are those of Reduce and UnsortedSegmentSum, which
have the same bits in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import as_data_type
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp
from ep.include.suggest import did_you_mean
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import Attributes, Operator, Role, operator_named, operators
from ep.ops.devices import arrays_of
from ep.ops.names import function_name, parameter_name


class Backward(NamedTuple):
    """What a gradient follows from.

    inputs: of the operator, arrays. attributes: resolved.
    output: the result; a list of them for an operator with several. dy: the gradient by it, likewise.
    """

    inputs: Sequence[Any]
    attributes: Attributes
    output: Any
    dy: Any


Gradients = Sequence[Any]
"""A gradient for each input; None for one that has none, as indices."""

_RULES: Final[dict[str, Callable[[Backward], Gradients]]] = {}


def gradient_of(*names: str) -> Callable[[Callable[[Backward], Gradients]], Callable[[Backward], Gradients]]:
    """Decorator: make a function the rule of operators."""

    def declare(rule: Callable[[Backward], Gradients]) -> Callable[[Backward], Gradients]:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


def has_gradient(name: str) -> bool:
    """Whether there is an operator of a name, or alias, that has a rule."""
    return any(name in (one.name, *one.aliases) and one.name in _RULES for one in operators())


def vjp(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any], output: Any, dy: Any) -> list[Any]:
    """Return the gradients of all inputs of an operator, given that of its result.

    name: the operator's, such as "gather".
    inputs: what it was given, on one device; for concat and stack the arrays, one after the other.
    attributes: what its function was given besides, by name; that of expand, repeat and slice is one sequence.
    output: its result; None where there is none at hand: then it is computed anew.
    dy: the gradient by the result, of its shape and dtype; for split a sequence of them.

    Of an input that has no gradient, since it is no floating or complex number, or is an index or a condition, it is
    None. Raises ValueError for a name that is no operator's, and TypeError for an operator without a gradient, such as
    one of second order.
    """
    declared = operator_named(name)
    rule = _RULES.get(declared.name)
    if rule is None:
        raise TypeError(f"{declared.name} has no gradient{did_you_mean(declared.name, _RULES)}")
    many = declared.inputs[0].role is Role.TENSORS
    names = [f"inputs[{position}]" for position in range(len(inputs))] if many else declared.input_names
    if len(inputs) != len(names):
        raise ValueError(f"inputs has {len(inputs)} arrays; {declared.name} has {', '.join(names)}")
    arrays = arrays_of(inputs, names)
    taken = [_array(arrays, value, label) for value, label in zip(inputs, names, strict=True)]
    positional = _positional(declared, attributes)
    given = {key: value for key, value in attributes.items() if not positional or key != declared.attributes[0].name}
    resolved = declared.resolve(*([taken] if many else taken), *positional, **given)
    if output is None:
        output = FUNCTIONS[declared.name](*([taken] if many else taken), *positional, **given)
    _check_shape(declared, taken, resolved, dy)
    return [
        gradient if as_data_type(value.dtype) in FLOATS + COMPLEXES else None
        for value, gradient in zip(taken, rule(Backward(taken, resolved, output, dy)), strict=True)
    ]


def _array(arrays: Any, value: Any, name: str) -> Any:
    known = isinstance(getattr(value, "dtype", None), np.dtype) and isinstance(getattr(value, "shape", None), tuple)
    return value if known else arrays.as_buffer(value, name)


def _positional(declared: Operator, attributes: Mapping[str, Any]) -> Sequence[Any]:
    """The attribute that a function takes as any number of arguments."""
    if declared.takes_many_arguments:
        return tuple(attributes.get(declared.attributes[0].name, ()))
    return ()


def _check_shape(declared: Operator, inputs: Sequence[Any], attributes: Attributes, dy: Any) -> None:
    shapes = declared.shape([tuple(one.shape) for one in inputs], attributes)
    given = dy if declared.name == "split" else [dy]
    if len(given) != len(shapes):
        raise ValueError(f"dy has {len(given)} parts; the result of {declared.name} has {len(shapes)}")
    for one, shape in zip(given, shapes, strict=True):
        if tuple(np.shape(one) if not hasattr(one, "shape") else one.shape) != tuple(shape):
            raise ValueError(f"dy has shape {tuple(one.shape)}; the result of {declared.name} has {tuple(shape)}")


def _op(name: str) -> Callable[..., Any]:
    return FUNCTIONS[name]


def _to(gradient: Any, like: Any) -> Any:
    """Sum a gradient over what was broadcast."""
    return gradient if tuple(gradient.shape) == tuple(like.shape) else _op("expand_grad")(gradient, like.shape)


def _conjugated(x: Any) -> Any:
    return _op("conj")(x) if as_data_type(x.dtype) in COMPLEXES else x


def zeros_like(like: Any) -> Any:
    """Zeros of the shape and floating type of an array; it may hold what is not finite."""
    return _op("nan_assign")(_op("sub")(like, like))


# operators of one operand

_CONSTANT_PIECES: Final = {
    *(UnaryOp.kCeil, UnaryOp.kFloor, UnaryOp.kRint, UnaryOp.kRound, UnaryOp.kSign, UnaryOp.kTrunc),
    UnaryOp.kNotEqualZero,
}
"""Their gradient is 0 wherever they have one."""


def _unary_rule(op: UnaryOp) -> Callable[[Backward], Gradients] | None:
    row = OPS[op]
    if op in _CONSTANT_PIECES:
        return lambda back: [zeros_like(back.inputs[0])]
    if not row.gradient:
        return None
    by = row.gradient[0]
    gradient = OPS[by]

    def rule(back: Backward) -> Gradients:
        (x,) = back.inputs
        if as_data_type(x.dtype) not in gradient.takes and op is UnaryOp.kIdentity:
            return [_op("identity")(back.dy)]
        operands = {"x": x, "y": back.output, "dy": back.dy}
        if isinstance(by, UnaryOp):
            operands = {"x": back.dy}
        attributes = {parameter_name(one): back.attributes[parameter_name(one)] for one in gradient.attributes}
        return [_op(function_name(by))(*(operands[name] for name in gradient.operands), **attributes)]

    return rule


for _unary in UnaryOp:
    if _unary is not UnaryOp.kCast and (_rule := _unary_rule(_unary)) is not None:
        _RULES[function_name(_unary)] = _rule


@gradient_of("nan_assign")
def _nan_assign(back: Backward) -> Gradients:
    (x,) = back.inputs
    return [_op("where")(_op("is_nan")(x), 0, back.dy)]


@gradient_of("trigamma")
def _trigamma(back: Backward) -> Gradients:
    """The derivative of trigamma is -2 zeta(3, x)."""
    (x,) = back.inputs
    return [_op("mul")(_op("mul")(_op("zeta")(3, x), -2), back.dy)]


@gradient_of("cast")
def _cast(back: Backward) -> Gradients:
    (x,), dy = back.inputs, back.dy
    if as_data_type(dy.dtype) in COMPLEXES and as_data_type(x.dtype) not in COMPLEXES:
        dy = _op("real")(dy)
    return [_op("cast")(dy, x.dtype) if as_data_type(x.dtype) in FLOATS + COMPLEXES else None]


# operators of two operands: they sum over what was broadcast


@gradient_of("add")
def _add(back: Backward) -> Gradients:
    return [_to(back.dy, one) for one in back.inputs]


@gradient_of("sub")
def _sub(back: Backward) -> Gradients:
    x, y = back.inputs
    return [_to(back.dy, x), _to(_op("negative")(back.dy), y)]


@gradient_of("mul")
def _mul(back: Backward) -> Gradients:
    x, y = back.inputs
    mul = _op("mul")
    return [_to(mul(back.dy, _conjugated(y)), x), _to(mul(back.dy, _conjugated(x)), y)]


@gradient_of("div")
def _div(back: Backward) -> Gradients:
    x, y = back.inputs
    of_x = _op("div")(back.dy, _conjugated(y))
    return [_to(of_x, x), _to(_op("negative")(_op("mul")(of_x, _conjugated(back.output))), y)]


@gradient_of("maximum", "minimum")
def _larger(back: Backward) -> Gradients:
    """The operand that was taken has the gradient; of equal ones, each has half of it."""
    half = _op("mul")(back.dy, 0.5)
    tied = _op("equal")(*back.inputs)
    return [
        _to(_op("where")(tied, half, _op("where")(_op("equal")(one, back.output), back.dy, 0)), one)
        for one in back.inputs
    ]


@gradient_of("pow")
def _pow(back: Backward) -> Gradients:
    """x to the power of y; where x is 0, the gradient by y is 0."""
    x, y = back.inputs
    mul, where = _op("mul"), _op("where")
    of_x = where(_op("equal")(y, 0), 0, mul(mul(back.dy, y), _op("pow")(x, _op("sub")(y, 1))))
    of_y = where(_op("equal")(x, 0), 0, mul(mul(back.dy, back.output), _op("log")(x)))
    return [_to(of_x, x), _to(of_y, y)]


@gradient_of("fmod")
def _fmod(back: Backward) -> Gradients:
    x, y = back.inputs
    whole = _op("trunc")(_op("div")(x, y))
    return [_to(back.dy, x), _to(_op("negative")(_op("mul")(back.dy, whole)), y)]


@gradient_of("floor_mod")
def _floor_mod(back: Backward) -> Gradients:
    x, y = back.inputs
    whole = _op("floor")(_op("div")(x, y))
    return [_to(back.dy, x), _to(_op("negative")(_op("mul")(back.dy, whole)), y)]


@gradient_of("floor_div", "trunc_div")
def _whole_div(back: Backward) -> Gradients:
    """They are constant but for their steps."""
    return [zeros_like(one) for one in back.inputs]


@gradient_of("where")
def _where(back: Backward) -> Gradients:
    condition, x, y = back.inputs
    where = _op("where")
    return [None, _to(where(condition, back.dy, 0), x), _to(where(condition, 0, back.dy), y)]


# operators that move data


@gradient_of("gather")
def _gather(back: Backward) -> Gradients:
    params, indices = back.inputs
    given = {name: back.attributes[name] for name in ("axis", "batch_dims", "mode")}
    return [_op("gather_grad")(back.dy, indices, params.shape, **given), None]


@gradient_of("expand")
def _expand(back: Backward) -> Gradients:
    return [_op("expand_grad")(back.dy, back.inputs[0].shape)]


@gradient_of("repeat")
def _repeat(back: Backward) -> Gradients:
    return [_op("repeat_grad")(back.dy, back.inputs[0].shape, back.attributes["sizes"])]


@gradient_of("permute")
def _permute(back: Backward) -> Gradients:
    axes = back.attributes["axes"]
    return [_op("permute")(back.dy, [axes.index(axis) for axis in range(len(axes))])]


@gradient_of("pad")
def _pad(back: Backward) -> Gradients:
    widths = zip(back.attributes["before"], back.attributes["after"], strict=True)
    return [_op("pad")(back.dy, [(-before, -after) for before, after in widths])]


@gradient_of("slice")
def _slice(back: Backward) -> Gradients:
    slices = [slice(one.start, one.stop, one.step) for one in back.attributes["ranges"]]
    return [_op("slice_grad")(back.dy, back.inputs[0].shape, *slices)]


@gradient_of("split")
def _split(back: Backward) -> Gradients:
    """Where the parts leave out or repeat elements, each is brought to its place, and all are added up."""
    (x,), axis = back.inputs, back.attributes["axis"]
    total = None
    for part, (begin, end) in zip(back.dy, back.attributes["sections"], strict=True):
        placed = _op("slice_grad")(part, x.shape, *[None] * axis, (begin, end))
        total = placed if total is None else _op("add")(total, placed)
    return [total]


@gradient_of("concat")
def _concat(back: Backward) -> Gradients:
    axis = back.attributes["axis"]
    sizes = [one.size if axis is None else one.shape[axis] for one in back.inputs]
    parts = _op("split")(back.dy, np.cumsum(sizes)[:-1].tolist(), axis or 0)
    return [part.reshape(one.shape) for part, one in zip(parts, back.inputs, strict=True)]


@gradient_of("stack")
def _stack(back: Backward) -> Gradients:
    parts = _op("split")(back.dy, len(back.inputs), back.attributes["axis"])
    return [part.reshape(one.shape) for part, one in zip(parts, back.inputs, strict=True)]


@gradient_of("matmul")
def _matmul(back: Backward) -> Gradients:
    x1, x2 = back.inputs
    transposes = [back.attributes[name] is BlasTransposeType.T for name in ("transpose_x1", "transpose_x2")]
    return matmul_grad(back.dy, x1, x2, *transposes)


# operators that reduce


def _kept(back: Backward, of: Any) -> Any:
    """A result seen with the axes that went, of size 1."""
    axes = back.attributes["axes"]
    return of.reshape(tuple(1 if axis in axes else size for axis, size in enumerate(back.inputs[0].shape)))


def _spread(back: Backward, of: Any) -> Any:
    """A result expanded to the shape of x."""
    return _op("expand")(_kept(back, of), back.inputs[0].shape)


def _as_x(back: Backward, of: Any) -> Any:
    """A gradient in the type of x, where the result had another."""
    (x,) = back.inputs
    return of if of.dtype == x.dtype else _op("cast")(of, x.dtype)


@gradient_of("sum")
def _sum(back: Backward) -> Gradients:
    return [_as_x(back, _spread(back, back.dy))]


@gradient_of("mean")
def _mean(back: Backward) -> Gradients:
    (x,) = back.inputs
    count = math.prod(x.shape[axis] for axis in back.attributes["axes"])
    return [_as_x(back, _spread(back, _op("div")(back.dy, max(count, 1))))]


@gradient_of("prod")
def _prod(back: Backward) -> Gradients:
    """The product of the others: where there is one zero, it alone has a gradient; where there are two, none has."""
    (x,) = back.inputs
    axes, where, equal = back.attributes["axes"], _op("where"), _op("equal")
    zero = equal(x, 0)
    others = where(zero, 1, x)
    rest = _spread(back, _op("prod")(others, axes))
    zeros = _spread(back, _op("sum")(_op("cast")(zero, x.dtype), axes))
    of_others = where(equal(zeros, 0), _op("div")(rest, _conjugated(others)), 0)
    of_zero = where(equal(zeros, 1), rest, 0)
    return [_as_x(back, _op("mul")(_spread(back, back.dy), where(zero, of_zero, of_others)))]


@gradient_of("max", "min")
def _largest(back: Backward) -> Gradients:
    """Elements that are equal to the result share the gradient."""
    (x,) = back.inputs
    found = _op("cast")(_op("equal")(x, _spread(back, back.output)), x.dtype)
    share = _op("div")(back.dy, _op("sum")(found, back.attributes["axes"]).reshape(back.dy.shape))
    return [_op("mul")(found, _spread(back, share))]


@gradient_of("softmax")
def _softmax(back: Backward) -> Gradients:
    return [_op("softmax_grad")(back.output, back.dy, back.attributes["axis"])]


@gradient_of("log_softmax")
def _log_softmax(back: Backward) -> Gradients:
    return [_op("log_softmax_grad")(back.output, back.dy, back.attributes["axis"])]


@gradient_of("segment_sum")
def _segment_sum(back: Backward) -> Gradients:
    _, ids = back.inputs
    return [_op("gather")(back.dy, ids, back.attributes["axis"], mode="zero"), None]


# gradients as functions of their own, beside those of gather, expand, repeat, slice and softmax


def matmul_grad(
    dy: ArrayLike, x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False
) -> list[Array]:
    """Return the gradients of `matmul` by x1 and x2: products with the other operand, summed over what was broadcast.

    dy: the gradient by the result, of its shape. The others are what matmul was given.
    """
    arrays = arrays_of((dy, x1, x2), ("dy", "x1", "x2"))
    dy, x1, x2 = (_array(arrays, *one) for one in ((dy, "dy"), (x1, "x1"), (x2, "x2")))
    matmul = _op("matmul")
    a = x1 if len(x1.shape) > 1 else x1.reshape((1, *x1.shape))
    b = x2 if len(x2.shape) > 1 else x2.reshape((*x2.shape, 1))
    rows = a.shape[-1 if transpose_x1 else -2]
    columns = b.shape[-2 if transpose_x2 else -1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dc = dy.reshape((*batch, rows, columns))
    of_a = matmul(b, dc, transpose_x2, True) if transpose_x1 else matmul(dc, b, False, not transpose_x2)
    of_b = matmul(dc, a, True, transpose_x1) if transpose_x2 else matmul(a, dc, not transpose_x1, False)
    return [_to(of_a, a).reshape(x1.shape), _to(of_b, b).reshape(x2.shape)]


def _binary_grad(name: str) -> Callable[..., list[Any]]:
    def function(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
        return vjp(name, (x, y), {}, None, dy)

    function.__name__ = function.__qualname__ = f"{name}_grad"
    function.__doc__ = f"""Return the gradients of `{name}` by x and y, each summed over what was broadcast in it.

    dy: the gradient by the result, of its shape. x, y: what {name} was given.
    """
    return function


FUNCTIONS["matmul_grad"] = matmul_grad
FUNCTIONS.update(
    {f"{name}_grad": _binary_grad(name) for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow")}
)
