"""Sums of views, one for each place of a window: of an array's windows, and of windows at their places in an array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import Constant, Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.kernels import Launch, Subject, Temporary, Value, View
from ep.ops.kernels.conditions import Value as SubjectValue

_MOST_TAPS: Final = 16
"""The most views that one launch adds up. More take seconds to compile."""

WIDE: Final = DataType.kDouble
"""The type of sums: those of elements of narrower types neither overflow nor are rounded twice."""

Slices = tuple[slice, ...]


class Sum(NamedTuple):
    """The sum of some parts of an array, and the part of the result that it is."""

    result: Slices
    parts: Sequence[Slices]


class Stage(NamedTuple):
    """Sums that make one array of another one. shape: of the result. padded: how many zeros the array has around it."""

    shape: Dims
    sums: Sequence[Sum]
    padded: Sequence[tuple[int, int]]


def as_it_is(shape: Dims) -> Stage:
    """Return the stage of one part, the whole array."""
    every = _slices(len(shape), (), ())
    return Stage(shape, [Sum(every, [every])], ())


def of_windows(planes: int, found: Windows) -> list[Stage]:
    """Return the stages from padded planes to the sums of windows: one, or one for each axis of large windows."""
    shape, stages = [planes, *found.padded], list[Stage]()
    for axes in _together(found.kernel):
        for axis in axes:
            shape[axis + 1] = found.counts[axis]
        parts = [_slices(len(shape), axes, taps) for taps in itertools.product(*map(found.taps, axes))]
        stages.append(Stage(tuple(shape), [Sum(_slices(len(shape), (), ()), parts)], ()))
    return stages


def at_places(planes: int, found: Windows) -> list[Stage]:
    """Return the stages from an element for each window to the sums over all windows that contain each element.

    With a stride, elements at the distance of the stride have the same places in their windows: they are one sum.
    """
    shape, stages = [planes, *found.counts], list[Stage]()
    for axes in _together(found.kernel):
        for axis in axes:
            shape[axis + 1] = found.sizes[axis]
        sums, around = list[Sum](), [(0, 0)] * len(shape)
        phases = [[*_phases(found, axis)] for axis in axes]
        for axis, along in zip(axes, phases, strict=True):
            taps = [tap for _, one in along for tap in one]
            before = max([0, *(-begin for begin, _ in taps)])
            around[axis + 1] = before, max([0, *(end - found.counts[axis] for _, end in taps)])
        for phase in itertools.product(*phases):
            shifted = [
                [slice(begin + around[axis + 1][0], end + around[axis + 1][0]) for begin, end in taps]
                for axis, (_, taps) in zip(axes, phase, strict=True)
            ]
            parts = [_slices(len(shape), axes, taps) for taps in itertools.product(*shifted)]
            sums.append(Sum(_slices(len(shape), axes, [one for one, _ in phase]), parts))
        stages.append(Stage(tuple(shape), sums, around if any(map(any, around)) else ()))
    return stages


def _phases(found: Windows, axis: int) -> Iterator[tuple[slice, list[tuple[int, int]]]]:
    """Yield the elements along an axis with the same places in windows, and the range of windows for each place."""
    size, stride = found.sizes[axis], found.strides[axis]
    for first in range(min(stride, size)):
        number = -(-(size - first) // stride)
        begins = [first + found.before[axis] - place * found.dilations[axis] for place in range(found.kernel[axis])]
        taps = [(begin // stride, begin // stride + number) for begin in begins if begin % stride == 0]
        reached = [one for one in taps if one[1] > 0 and one[0] < found.counts[axis]]
        yield slice(first, size, stride), reached


def _together(kernel: Dims) -> list[tuple[int, ...]]:
    """Return the axes of each stage: all of them if windows are small."""
    axes = tuple(range(len(kernel)))
    return [axes] if math.prod(kernel) <= _MOST_TAPS else [(axis,) for axis in reversed(axes)]


def _slices(rank: int, axes: Sequence[int], along: Sequence[slice]) -> Slices:
    found = [slice(None)] * rank
    for axis, one in zip(axes, along, strict=True):
        found[axis + 1] = one
    return tuple(found)


class SumVariant(NamedTuple):
    """What the structure of a launch depends on.

    source, result: the types. parts: how many are added up. more: whether a sum of earlier parts is added to them.
    by: the number by which the sum is divided, 1 for none, or None for an array of numbers.
    """

    source: DataType
    result: DataType
    parts: int
    more: bool
    by: int | None


def structure(variant: SumVariant) -> Structure:
    """Return the structure of a sum: its sources are the parts, the sum of earlier ones, and what it is divided by."""
    sources = (variant.source,) * variant.parts + (WIDE,) * (variant.more + (variant.by is None))
    constants = (Constant(WIDE, np.float64(variant.by).tobytes()),) if variant.by not in (None, 1) else ()
    steps = list[Step]()

    def add(op: UnaryOp | BinaryOp, *operands: int, to: DataType = WIDE) -> int:
        steps.append(Step(op, operands, to))
        return len(sources) + len(constants) + len(steps) - 1

    total = variant.parts if variant.more else None
    for part in range(variant.parts):
        wide = part if variant.source is WIDE else add(UnaryOp.kCast, part)
        total = wide if total is None else add(BinaryOp.kAdd, total, wide)
    assert total is not None
    if variant.by != 1:
        total = add(BinaryOp.kDiv, total, len(sources) - (variant.by is None))
    if variant.result is not WIDE or not steps:
        total = add(UnaryOp.kIdentity if variant.result is WIDE else UnaryOp.kCast, total, to=variant.result)
    return Structure(sources, constants, tuple(steps), (total,))


class Quotient(SubjectValue):
    """The structure of the quotient of an operand and numbers: a device that supports it supports sums, too."""

    def of(self, subject: Subject) -> Structure:
        return structure(SumVariant(subject.data_types["out"], subject.data_types["out"], 1, more=False, by=None))

    def __str__(self) -> str:
        return 'quotient(data_type("out"))'


def add_sums(
    steps: list[Any],
    subject: Subject,
    stages: Sequence[Stage],
    source: Value,
    shape: Dims,
    target: Value,
    kinds: tuple[DataType, DataType],
    by: int | None = 1,
    numbers: Value | None = None,
) -> None:
    """Add the launches of stages to the steps of a plan, from one array to the next one.

    source, target: the first array, of `shape`, and the last one; each has one axis of planes. kinds: their types.
    by: as in `SumVariant`. numbers: to divide by, if `by` is None.
    """
    make, (kind, result) = partial(RequirePrimitive, device_type=subject.device_type), kinds
    for number, stage in enumerate(stages, 1):
        ends = number == len(stages)
        to = result if ends else WIDE
        if stage.padded:
            before, after = zip(*stage.padded, strict=True)
            padded = Temporary(tuple(map(sum, zip(shape, before, after, strict=True))), kind.dtype)
            pad = make(ConstantPadFactory, data_type=kind)
            steps.append(Launch(pad, shape, source, before, after, 0, padded))
            source = padded
        made = target if ends else Temporary(stage.shape, to.dtype)
        if not all(one.parts for one in stage.sums):
            steps.append(Launch(make(FillFactory, data_type=to), made, 0, math.prod(stage.shape)))
        for one in stage.sums:
            place, earlier = View(made, places=one.result), list[Value]()
            for begin in range(0, len(one.parts), _MOST_TAPS):
                run = one.parts[begin : begin + _MOST_TAPS]
                last = begin + len(run) == len(one.parts)
                variant = SumVariant(kind, to if last else WIDE, len(run), begin > 0, by if last and ends else 1)
                sources = [*(View(source, places=part) for part in run), *earlier]
                if variant.by is None and numbers is not None:
                    sources.append(numbers)
                sizes = tuple(
                    len(range(*along.indices(size))) for along, size in zip(one.result, stage.shape, strict=True)
                )
                earlier = [place if last else Temporary(sizes, WIDE.dtype)]
                steps.append(Launch(make(ExpressionFactory, structure=structure(variant)), earlier, sources))
        source, shape, kind = made, stage.shape, to
