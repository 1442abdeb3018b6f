"""max_pool_labels: which element of each window of an array is the largest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS, INTEGERS, REAL, UNSIGNED
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import Constant, Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import (
    Calls,
    Launch,
    Plan,
    Subject,
    Temporary,
    Value,
    View,
    data_type,
    launching,
    primitive_exists,
    views_exist,
)
from ep.ops.kernels.conditions import Value as SubjectValue
from ep.ops.pool import least, pool_attributes, pool_shape, pool_windows
from ep.ops.sbp_signatures import PMAX, B, P, partials_of, signature
from ep.ops.window_kernel import Move, WindowMoves, moves_exist
from ep.sbp import Problem, SbpSignature, Split

_MOST_TAPS: Final = 9
"""The most places of a window along an axis that one launch compares. More take seconds to compile."""


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    x, _ = problem.shapes
    found = pool_windows(x, problem.attributes)
    for plane in (Split(0), Split(1)):
        yield signature(plane, B, plane)
    for axis in range(len(x) - 2):
        spatial = Split(axis + 2)
        yield signature(B, B, spatial)
        if found.stay(axis, (spatial, spatial, B), problem.ranks):
            yield signature(spatial, Split(axis), spatial)
        if found.divide(axis, problem.ranks):
            yield signature(spatial, Split(axis), PMAX)
    for partial in partials_of(problem.types[1]):
        if partial is not P or found.are_filled:  # -1 and -1 are not -1
            yield signature(B, partial, partial)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: the pads of its piece of x."""
    (x, _), given = problem.shapes, problem.attributes
    places = signature.inputs[0], *signature.outputs, B
    pads = pool_windows(x, given).local_pads(places, problem.ranks, rank)
    return {**given, "pads": pads}


@operator(shape=pool_shape, dtype=SameAs("labels"), signatures=_signatures, local=_local)
def max_pool_labels(
    x: Tensor,
    labels: Tensor,
    kernel: Any,
    strides: Any = 1,
    pads: Any = 0,
    dilations: Any = 1,
    ceil_mode: bool = False,
) -> Attributes:
    """Return the label of the largest element of each window of `x`: which element `max_pool` takes.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of any type but complex ones.
    labels: array of shape (sizes...), of a signed integer type: a label for each place of a plane of x, 0 at least.
    kernel, strides, pads, dilations, ceil_mode: as of `max_pool`.
    out: where to put the result, an array of its shape and of the dtype of labels.

    The result has shape (N, C, counts...). Of equal elements, the first one in row-major order is taken, and of several
    NaN the last one, as in PyTorch; a window without elements has -1. Raises ValueError for shapes and attributes that
    do not fit.
    """
    given = pool_attributes(x, kernel, strides, pads, dilations, ceil_mode)
    sizes = tuple(x.shape[2:])
    if tuple(labels.shape) != sizes:
        raise ValueError(f"labels has shape {tuple(labels.shape)}; it must be {sizes}, as planes of x are")
    return given


class _Variant(NamedTuple):
    """What the structure of a launch depends on.

    candidates: the number of elements that are compared. padded: whether a label may be -1, that of no element.
    keeps: whether the largest elements are written, too.
    """

    candidates: int
    padded: bool
    keeps: bool


def _structure(of_x: DataType, of_labels: DataType, variant: _Variant) -> Structure:
    """Return the structure that takes the largest of elements, which are sources, and its label, sources after them."""
    number, steps = variant.candidates, list[Step]()
    sources = (of_x,) * number + (of_labels,) * number
    nothing = (Constant(of_labels, np.array(-1).astype(of_labels.dtype).tobytes()),) if variant.padded else ()

    def add(op: UnaryOp | BinaryOp | None, *operands: int, to: DataType = DataType.kBool) -> int:
        steps.append(Step(op, operands, to))
        return len(sources) + len(nothing) + len(steps) - 1

    value, label = 0, number
    for other in range(1, number):
        is_next = add(BinaryOp.kGreaterThan, other, value)
        if of_x in FLOATS:
            is_next = add(BinaryOp.kLogicalOr, is_next, add(UnaryOp.kIsNan, other))
        value = add(None, is_next, other, value, to=of_x)
        label = add(None, is_next, number + other, label, to=of_labels)
        if variant.padded:
            label = add(None, add(BinaryOp.kEqual, label, len(sources)), number + other, label, to=of_labels)
    return Structure(sources, nothing, tuple(steps), (value, label) if variant.keeps else (label,))


class _TwoPlaces(SubjectValue):
    """The structure of windows of two elements: a device that supports it supports larger windows, too."""

    def of(self, subject: Subject) -> Structure:
        types = subject.data_types
        return _structure(types["x"], types["labels"], _Variant(2, padded=True, keeps=True))

    def __str__(self) -> str:
        return 'larger(data_type("x"), data_type("labels"))'


class _Pass(NamedTuple):
    """The comparison of the places of windows along one axis.

    places: a slice of the array for each place, with the elements of all windows there. shape: of the result.
    """

    places: Sequence[tuple[slice | int, ...]]
    shape: Dims


def _passes(planes: int, found: Windows, step: int) -> list[_Pass]:
    """Return the passes from padded planes to the result, the last axis first: so ties go to the first row.

    step: if it is above 1, elements that far apart along the last axis are in one of `step` rows, one after the other.
    """
    every, shape = slice(None), [planes, *found.padded]
    along: list[list[Any]] = [[(one,) for one in found.taps(axis)] for axis in range(len(found.sizes))]
    if step > 1:
        begins = (far * found.dilations[-1] for far in range(found.kernel[-1]))
        along[-1] = [(at % step, slice(at // step, at // step + found.counts[-1])) for at in begins]
    larger = [axis for axis in reversed(range(len(along))) if len(along[axis]) > 1] or [0]
    passes = []
    for number, axis in enumerate(larger):
        at: list[Any] = [(every,)] * (len(along) + 1)
        for other, taps in enumerate(along):
            if other == axis or (number == 0 and len(taps) == 1):
                shape[other + 1] = found.counts[other]
                at[other + 1] = taps[0]
        places = [tuple(itertools.chain(*at[: axis + 1], tap, *at[axis + 2 :])) for tap in along[axis]]
        passes.append(_Pass(places * 2 if len(places) == 1 else places, tuple(shape)))
    return passes


def _step(found: Windows) -> int:
    """Return the distance of the elements of one row, as of `_passes`: vectors read elements of such rows."""
    return found.strides[-1] if found.kernel[-1] > 1 and found.counts[-1] > 1 else 1


_SIGNED: Final = [one for one in INTEGERS if one not in UNSIGNED]


@launching(
    "max_pool_labels",
    *(moves_exist(data_type("x")), moves_exist(data_type("labels"))),
    when=data_type("x").one_of(*REAL)
    & data_type("labels").one_of(*_SIGNED)
    & views_exist()
    & primitive_exists(ExpressionFactory, _TwoPlaces()),
    src="x",
    dst="out",
)
def max_pool_labels_kernel(calls: Calls, *sides: WindowMoves) -> Plan:
    """Return launches of Expression, which compares views of padded x along one axis after the other.

    Views of the labels are its operands, too, so that it takes the label with the element.
    """
    (x, _), (result,) = calls.shapes, pool_shape(calls.shapes, calls.attributes)
    if 0 in result:
        return Plan()
    found, planes, steps = pool_windows(x, calls.attributes), math.prod(x[:2]), list[Any]()
    has_padding, step = found.has_padding, _step(found)
    if step > 1:  # whole rows of that distance, and no more of the padding than is read
        length = -(-found.reach[-1] // step) * step
        found = found._replace(after=(*found.after[:-1], length - found.before[-1] - found.sizes[-1]))
    each = zip(sides, (planes, 1), (least(calls.subject.data_types["x"]), -1), strict=True)
    now = [
        _rows(steps, side, Placeholder(k), number, found, step, value) for k, (side, number, value) in enumerate(each)
    ]
    *first, last = _passes(planes, found, step)
    for one in first:
        made = [Temporary(one.shape, side.dtype) for side in sides]
        _compare(steps, calls.subject, one, has_padding, now, made)
        now = [*made]
    _compare(steps, calls.subject, last, has_padding, now, [View(RESULT, last.shape)])
    return Plan(*steps, copy=sides[1].copy(math.prod(result)))


def _rows(
    steps: list[Any], moves: WindowMoves, array: Value, planes: int, found: Windows, step: int, value: Any
) -> Value:
    """Add the moves that pad planes with a value, and divide rows as `_passes` takes them; return the result."""
    written = moves.moved(steps, array, moves.padding((planes,), found, value))
    *outer, size = planes, *found.padded
    if step == 1:
        return View(written, (*outer, size))
    rows, length = math.prod(outer), size // step
    divide = moves.strided((rows, step, length), (size, 1, step), (size, length, 1))
    return moves.moved(steps, written, [Move((*outer, step, length), divide)])


def _compare(
    steps: list[Any], subject: Subject, one: _Pass, padded: bool, now: Sequence[Value], made: Sequence[Value]
) -> None:
    """Add the launches of a pass, from elements and labels to `made`: the largest, if it is kept, and their labels."""
    types, number = [subject.data_types[name] for name in ("x", "labels")], len(one.places)
    ends, found = [*range(_MOST_TAPS, number, _MOST_TAPS - 1), number], list[Value]()
    for begin, end in zip([0, *ends], ends, strict=False):
        run, is_last = one.places[begin:end], end == number
        variant = _Variant(len(run) + (begin > 0), padded, len(made) > 1 or not is_last)
        # a new Expression, which launches faster since all of its launches have the same shapes
        choose = RequirePrimitive(ExpressionFactory, subject.device_type, _structure(types[0], types[1], variant))
        sources = [
            value
            for k, array in enumerate(now)
            for value in (*found[k : k + 1], *(View(array, places=place) for place in run))
        ]
        found = [*made] if is_last else [Temporary(one.shape, kind.dtype) for kind in types]
        steps.append(Launch(choose, found, sources))
