"""Calls of Cast, BroadcastElementwiseUnary, Where, Add, Fill, TensorFill and OneHot."""

import math

import numpy as np

from ep import UnaryOp
from ep.include import primitive as p
from ep.testing import tolerances
from ep.testing.agreement import assert_same_numbers, check_unary
from ep.testing.references.add import total
from ep.testing.references.convert import convert
from ep.testing.references.one_hot import one_hot
from ep.testing.samples import samples
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.elementwise_calls import ElementwiseCall, draw_attributes, number_of
from tests.stress.guarded import Guarded
from tests.stress.movement_calls import any_bits, expand_call, more, places


def numbers(rng, count, data_type):
    """Return `count` numbers of all magnitudes."""
    return samples(rng, data_type, 64)[rng.integers(0, 64, count)]


class CastCall(Call):
    def expected(self, device, primitive):
        """Return the bits of a separate launch, after checking that its numbers are right, as NaN may have any bits."""
        src = self.arguments["src"][: int(self.arguments["count"])]
        dst = device.filled(src.size, self.entry.dtypes[1])
        primitive.Launch(device.stream, device.buffer(src), dst, src.size)
        got = device.array(dst)
        assert_same_numbers(got, convert(src, dst.dtype))
        return got


def cast_call(rng, device, entry, most):
    src_type, dst_type = entry.dtypes
    count = math.prod(draw.dims(rng, most, 2))
    src = numbers(rng, count + more(rng), src_type)
    shared = src_type.itemsize == dst_type.itemsize and draw.chance(rng, 0.3)
    dst = src.view(dst_type.dtype) if shared else background(count + more(rng), dst_type)
    arguments = {"src": src, "dst": dst, "count": draw.spelled(rng, count)}
    return CastCall(entry, (), arguments, "dst", "src" if shared else None)


class BroadcastUnaryCall(ElementwiseCall):
    def table(self, device, primitive):
        """Return the result for each of the values."""
        (values,) = self.values
        dst = device.filled(values.size, self.entry.dtypes[1])
        primitive.Launch(device.stream, values.shape, device.buffer(values), values.shape, dst)
        return device.array(dst)

    def expected(self, device, primitive):
        at = self.arguments
        src_dims, dst_dims = (tuple(map(int, at[name])) for name in ("src_dims", "dst_dims"))
        dst = at["dst"].copy()
        chosen = self.chosen[0][np.broadcast_to(places(src_dims, at.get("src_strides")), dst_dims)]
        dst[places(dst_dims, at.get("dst_strides"))] = self.table(device, primitive)[chosen]
        return dst

    def agrees(self, device, primitive):
        op, src_type, dst_type = self.entry.op, *self.entry.dtypes
        got, (values,) = self.table(device, primitive), self.values
        if op is UnaryOp.kCast:
            assert_same_numbers(got, convert(values, dst_type.dtype))
        else:
            check_unary(device.library, op, src_type, got, values, self.attributes)


def broadcast_unary_call(rng, device, entry, most):
    src_type, dst_type = entry.dtypes
    attributes, options = draw_attributes(rng, entry.op)
    values = samples(rng, src_type, 16 if entry.op in tolerances.SLOW_REFERENCE else 64)
    moved = expand_call(rng, device, p.Entry(p.Expand, None, (src_type,), entry.device_type), most)
    arguments = dict(moved.arguments)
    chosen = rng.integers(0, values.size, arguments["src"].size)
    arguments["src"] = values[chosen]
    if len(arguments["src_dims"]) == 0 and draw.chance(rng, 0.5):
        arguments["src"] = number_of(values[chosen[0]])
    arguments["dst"] = background(arguments["dst"].size, dst_type)
    return BroadcastUnaryCall(
        entry, (*moved.options, *options), arguments, "dst", None, attributes, (values,), (chosen,)
    )


class WhereCall(Call):
    def expected(self, device, primitive):
        operands = []
        for name, data_type in zip(
            ("cond", "x", "y"), (self.entry.dtypes[0], *[self.entry.dtypes[1]] * 2), strict=True
        ):
            dims = tuple(map(int, self.arguments[f"{name}_dims"]))
            flat = np.asarray(self.arguments[name]).astype(data_type.dtype, copy=False).reshape(-1)
            operands.append(flat[: math.prod(dims)].reshape(dims))
        cond, x, y = operands
        return np.where(cond != 0, x, y).reshape(-1)


def where_call(rng, device, entry, most):
    cond_type, data_type = entry.dtypes
    whole = draw.dims(rng, most)
    sides = {name: draw.narrowed(rng, whole) for name in ("cond", "x", "y")}
    dims = np.broadcast_shapes(*sides.values())
    arguments = {}
    for name, side in sides.items():
        arguments[f"{name}_dims"] = draw.spelled_dims(rng, side)
        count = math.prod(side) + more(rng)
        flat = rng.integers(0, 2, count).astype(cond_type.dtype) if name == "cond" else any_bits(rng, count, data_type)
        arguments[name] = draw.pick(rng, (1, 0.0, True, 7)) if side == () and draw.chance(rng, 0.5) else flat
    whole_ones = [
        name
        for name in ("x", "y")
        if math.prod(sides[name]) == math.prod(dims) and isinstance(arguments[name], np.ndarray)
    ]
    shared = draw.pick(rng, whole_ones) if whole_ones and draw.chance(rng, 0.4) else None
    arguments["z"] = arguments[shared] if shared else background(math.prod(dims) + more(rng), data_type)
    return WhereCall(entry, (int(rng.integers(max(len(dims), 1), 9)),), arguments, "z", shared)


class AddCall(Call):
    """`srcs` is a list of arrays; the shared operand is one of them, such as `srcs[0]`."""

    def place(self, device, rng):
        at = self.arguments
        buffers = {f"srcs[{k}]": Guarded(device, rng, src) for k, src in enumerate(at["srcs"])}
        srcs = [buffer.view for buffer in buffers.values()]
        if self.shared is None:
            buffers["dst"] = Guarded(device, rng, at["dst"])
        return buffers, {"srcs": srcs, "dst": buffers[self.shared or "dst"].view, "count": at["count"]}

    def expected(self, device, primitive):
        """Return the bits of a separate launch, after checking that its numbers are right, as NaN may have any bits."""
        count = int(self.arguments["count"])
        srcs = [src[:count] for src in self.arguments["srcs"]]
        dst = device.filled(count, self.entry.dtypes[0])
        primitive.Launch(device.stream, list(map(device.buffer, srcs)), dst, count)
        got = device.array(dst)
        assert_same_numbers(got, total(srcs))
        return got


def add_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    num_srcs = draw.pick(rng, (1, 2, 2, 3, 4, 7, 8, 9, 17))
    count = math.prod(draw.dims(rng, most // num_srcs, 2))
    srcs = [numbers(rng, count + more(rng), data_type) for _ in range(num_srcs)]
    place = int(rng.integers(num_srcs)) if draw.chance(rng, 0.3) else None
    dst = background(count + more(rng), data_type) if place is None else srcs[place]
    arguments = {"srcs": srcs, "dst": dst, "count": draw.spelled(rng, count)}
    return AddCall(entry, (), arguments, "dst", None if place is None else f"srcs[{place}]")


class FillCall(Call):
    """Fill, or TensorFill."""

    def expected(self, device, primitive):
        element = self.arguments["value" if "value" in self.arguments else "src"]
        return np.full(int(self.arguments["count"]), np.asarray(element).reshape(-1)[0], self.entry.dtypes[0].dtype)


def fill_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    count = math.prod(draw.dims(rng, most, 2))
    dst = background(count + more(rng), data_type)
    return FillCall(entry, (), {"dst": dst, "value": number(rng), "count": draw.spelled(rng, count)}, "dst")


def tensor_fill_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    count = math.prod(draw.dims(rng, most, 2))
    src, dst = any_bits(rng, 1 + more(rng), data_type), background(count + more(rng), data_type)
    return FillCall(entry, (), {"src": src, "dst": dst, "count": draw.spelled(rng, count)}, "dst")


class OneHotCall(Call):
    def expected(self, device, primitive):
        at = self.arguments
        lower, upper = int(at["lower_bound"]), int(at["upper_bound"])
        indices = at["indices"][: int(at["num_indices"])]
        return one_hot(indices, lower, upper, at["on_value"], at["off_value"], self.entry.dtypes[1].dtype).reshape(-1)


def one_hot_call(rng, device, entry, most):
    indices_type, out_type = entry.dtypes
    num_indices, lower = draw.size(rng, min(most, 5000)), int(draw.pick(rng, (1, 5, -3, 100)))
    depth = draw.size(rng, most // num_indices)
    limits = np.iinfo(indices_type.dtype)
    low, high = max(lower - 2, limits.min), min(lower + depth + 2, limits.max)
    indices = rng.integers(min(low, high), high, num_indices + more(rng), endpoint=True).astype(indices_type.dtype)
    arguments = {
        "indices": indices,
        "out": background(num_indices * depth + more(rng), out_type),
        "on_value": number(rng),
        "off_value": number(rng),
        "num_indices": draw.spelled(rng, num_indices),
        "lower_bound": draw.spelled(rng, lower),
        "upper_bound": lower + depth if lower + depth else 1,
    }
    if arguments["upper_bound"] != lower + depth:  # a bound of 0 would be mistaken for an empty output
        arguments["out"] = background(num_indices * (depth + 1) + more(rng), out_type)
    return OneHotCall(entry, (), arguments, "out")


def number(rng):
    """Return a plain number that every type can hold."""
    return draw.pick(rng, (1, 2.0, True, np.float32(3), np.int64(100)))


MAKERS = {
    p.Cast: cast_call,
    p.BroadcastElementwiseUnary: broadcast_unary_call,
    p.Where: where_call,
    p.Add: add_call,
    p.Fill: fill_call,
    p.TensorFill: tensor_fill_call,
    p.OneHot: one_hot_call,
}
