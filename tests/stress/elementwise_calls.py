"""Calls of ElementwiseUnary and BroadcastElementwiseBinary.

Operands are drawn from a few values. What the op makes of these, or of each pair of them, is launched by itself and
compared with the reference; in the call itself, a value must give the same bits wherever it lies.
"""

import math
from dataclasses import dataclass

import numpy as np

from ep.include import primitive as p
from ep.include.primitive.attributes import ATTRIBUTES
from tests import tolerances
from tests.agreement import check_binary, check_unary
from tests.samples import operands, samples
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.movement_calls import more


@dataclass
class ElementwiseCall(Call):
    """values: those that each operand is drawn from; chosen: by their numbers, flat, in the dims of the call."""

    attributes: tuple[float, ...] = ()
    values: tuple[np.ndarray, ...] = ()
    chosen: tuple[np.ndarray, ...] = ()


class UnaryCall(ElementwiseCall):
    def reference(self, device, primitive):
        src, (src_type, dst_type) = self.values[0], self.entry.dtypes
        dst = device.filled(src.size, dst_type)
        primitive.Launch(device.stream, device.buffer(src), dst, src.size)
        table = device.array(dst)
        check_unary(self.entry.op, src_type, table, src, self.attributes)
        return table[self.chosen[0]]


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
    def reference(self, device, primitive):
        (a, b), (src_type, dst_type) = self.values, self.entry.dtypes
        pairs = np.repeat(a, b.size), np.tile(b, a.size)
        dst = device.filled(pairs[0].size, dst_type)
        dims = pairs[0].shape
        primitive.Launch(device.stream, dims, device.buffer(pairs[0]), dims, device.buffer(pairs[1]), dst)
        table = device.array(dst)
        check_binary(self.entry.op, src_type, table, *pairs, self.attributes)
        return table[self.chosen[0] * b.size + self.chosen[1]]


def binary_call(rng, device, entry, most):
    src_type, dst_type = entry.dtypes
    attributes, given = draw_attributes(rng, entry.op)
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
    """An element as a plain number."""
    return float(element) if element.dtype.kind not in "biufc" else element.item()


def draw_attributes(rng, op):
    """All attributes of `op`, and those given to New: none where they are left to their defaults."""
    declared = ATTRIBUTES.get(op, ())
    defaults = tuple(attribute.default for attribute in declared)
    if None not in defaults and draw.chance(rng, 0.5):
        return defaults, ()
    drawn = sorted(round(0.125 + 2 * abs(rng.standard_normal()), 3) for _ in declared)
    return tuple(drawn), tuple(drawn)


MAKERS = {p.ElementwiseUnary: unary_call, p.BroadcastElementwiseBinary: binary_call}
