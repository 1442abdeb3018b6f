"""Calls of ElementwiseUnary and BroadcastElementwiseBinary.

Operands are drawn from a few values. A separate launch computes the op on these values, or on each pair of them, and
`agrees` compares its results with the reference; in the call itself, a value must give the same bits at every position.
"""

import math
from dataclasses import dataclass

import numpy as np

from ep import BinaryOp
from ep.include import primitive as p
from ep.include.primitive.op_table import attributes_of
from ep.testing import tolerances
from ep.testing.agreement import check_binary, check_unary
from ep.testing.samples import operands, samples
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.movement_calls import more

POWER_GRADS = (BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad)


@dataclass
class ElementwiseCall(Call):
    """values: those from which each operand is drawn; chosen: the flat indices of the drawn values, in the dims of the
    call.
    """

    attributes: tuple[float, ...] = ()
    values: tuple[np.ndarray, ...] = ()
    chosen: tuple[np.ndarray, ...] = ()


class UnaryCall(ElementwiseCall):
    def table(self, device, primitive):
        """Return the result for each of the values."""
        dst = device.filled(self.values[0].size, self.entry.dtypes[1])
        primitive.Launch(device.stream, device.buffer(self.values[0]), dst, self.values[0].size)
        return device.array(dst)

    def expected(self, device, primitive):
        return self.table(device, primitive)[self.chosen[0]]

    def agrees(self, device, primitive):
        table = self.table(device, primitive)
        check_unary(device.library, self.entry.op, self.entry.dtypes[0], table, self.values[0], self.attributes)


def unary_call(rng, device, entry, most):
    src_type, dst_type = entry.dtypes
    attributes, options = draw_attributes(rng, entry.op)
    values = samples(rng, src_type, 16 if entry.op in tolerances.SLOW_REFERENCE else 128)
    count = math.prod(draw.dims(rng, most, 2))
    chosen = rng.integers(0, values.size, count)
    src = np.concatenate([values[chosen], values[: more(rng)]])
    shared = src_type.itemsize == dst_type.itemsize and draw.chance(rng, 0.3)
    dst = src.view(dst_type.dtype) if shared else background(count + more(rng), dst_type)
    arguments = {"src": src, "dst": dst, "count": draw.spelled(rng, count)}
    shared_with = "src" if shared else None
    return UnaryCall(entry, options, arguments, "dst", shared_with, attributes, (values,), (chosen,))


class BinaryCall(ElementwiseCall):
    def pairs(self):
        """Return all pairs of a value of one operand and a value of the other operand."""
        a, b = self.values
        return np.repeat(a, b.size), np.tile(b, a.size)

    def table(self, device, primitive):
        """Return the result for each pair."""
        a, b = self.pairs()
        dst = device.filled(a.size, self.entry.dtypes[1])
        primitive.Launch(device.stream, a.shape, device.buffer(a), b.shape, device.buffer(b), dst)
        return device.array(dst)

    def expected(self, device, primitive):
        return self.table(device, primitive)[self.chosen[0] * self.values[1].size + self.chosen[1]]

    def agrees(self, device, primitive):
        table = self.table(device, primitive)
        check_binary(device.library, self.entry.op, self.entry.dtypes[0], table, *self.pairs(), self.attributes)


def binary_call(rng, device, entry, most):
    src_type, dst_type = entry.dtypes
    # for integers, the reference is exact to the bit only if the power has few digits
    exact = entry.op in POWER_GRADS and src_type.dtype.kind not in "fcV"
    attributes, given = ((2.0,), (2.0,)) if exact else draw_attributes(rng, entry.op)
    values = operands(rng, entry.op, src_type, 5 if entry.op in tolerances.SLOW_BINARY_REFERENCE else 16)
    whole = draw.dims(rng, most)
    sides = [draw.narrowed(rng, whole) for _ in range(2)]
    dims = np.broadcast_shapes(*sides)
    drawn = [rng.integers(0, of.size, side) for of, side in zip(values, sides, strict=True)]
    arguments = {}
    for number, (of, side, places) in enumerate(zip(values, sides, drawn, strict=True)):
        arguments[f"src{number}_dims"] = draw.spelled_dims(rng, side)
        flat = of[places].reshape(-1)
        plain = side == () and draw.chance(rng, 0.5)
        arguments[f"src{number}"] = number_of(flat[0]) if plain else np.concatenate([flat, flat[: more(rng)]])
    whole_ones = [
        f"src{number}"
        for number, side in enumerate(sides)
        if math.prod(side) == math.prod(dims) and isinstance(arguments[f"src{number}"], np.ndarray)
    ]
    shared = None
    if whole_ones and src_type.itemsize == dst_type.itemsize and draw.chance(rng, 0.4):
        shared = draw.pick(rng, whole_ones)
        arguments["dst"] = arguments[shared].view(dst_type.dtype)
    else:
        arguments["dst"] = background(math.prod(dims) + more(rng), dst_type)
    options = int(rng.integers(max(len(sides[0]), len(sides[1]), 1), 9)), *given
    chosen = tuple(np.broadcast_to(places, dims).reshape(-1) for places in drawn)
    return BinaryCall(entry, options, arguments, "dst", shared, attributes, values, chosen)


def number_of(element):
    """Return an element as a plain number."""
    return float(element) if element.dtype.kind not in "biufc" else element.item()


def draw_attributes(rng, op):
    """Return all attributes of `op`, and the attributes passed to New: none if all have their defaults."""
    declared = attributes_of(op)
    defaults = tuple(attribute.default for attribute in declared)
    if None not in defaults and draw.chance(rng, 0.5):
        return defaults, ()
    drawn = sorted(round(0.125 + 2 * abs(rng.standard_normal()), 3) for _ in declared)
    return tuple(drawn), tuple(drawn)


MAKERS = {p.ElementwiseUnary: unary_call, p.BroadcastElementwiseBinary: binary_call}
