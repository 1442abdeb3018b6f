"""Calls of the primitives that move elements unchanged: Gather, BatchGather, Expand."""

import math

import numpy as np

from ep.include import primitive as p
from ep.testing.references.gather import reference
from tests.stress import draw
from tests.stress.call import Call, background


class GatherCall(Call):
    """Gather, or BatchGather."""

    def expected(self, device, primitive):
        at = self.arguments
        batch, outer, gather, inner, num_indices = (
            int(at.get(name, 1))
            for name in ("batch_dim_size", "outer_dim_size", "gather_dim_size", "inner_dim_size", "num_indices")
        )
        params = at["params"][: batch * outer * gather * inner].reshape(batch, outer, gather, inner)
        indices = at["indices"][: batch * num_indices].reshape(batch, num_indices)
        return reference(params, indices, int(at.get("offset", 0)))


def gather_call(rng, device, entry, most):
    params_type, indices_type = entry.dtypes
    batch = draw.size(rng, 13) if entry.interface is p.BatchGather else 1
    outer = draw.size(rng, 13)
    num_indices = draw.size(rng, min(most, 4100) // (batch * outer))
    inner = draw.size(rng, most // (batch * outer * num_indices))
    gather = draw.size(rng, most // (batch * outer * inner))
    sizes = {"outer_dim_size": outer, "gather_dim_size": gather, "inner_dim_size": inner}
    if entry.interface is p.BatchGather:
        sizes = {"batch_dim_size": batch, **sizes}
    if draw.chance(rng, 0.1):
        sizes[draw.pick(rng, list(sizes))] = 0
    batch, outer, gather, inner = (sizes.get(name, 1) for name in ("batch_dim_size", *list(sizes)[-3:]))
    offset = int(draw.pick(rng, (0, 0, 0, 1, -3, 100)))
    limits = np.iinfo(indices_type.dtype)
    low, high = max(offset - 2, limits.min), min(offset + gather + 1, limits.max)
    indices = rng.integers(min(low, high), high, batch * num_indices, endpoint=True).astype(indices_type.dtype)
    outside = rng.random(indices.size) < draw.pick(rng, (0, 0, 0.1))
    indices[outside] = draw.pick(rng, (limits.min, limits.max))
    arguments = {name: draw.spelled(rng, size) for name, size in sizes.items()}
    arguments["params"] = any_bits(rng, batch * outer * gather * inner + more(rng), params_type)
    arguments["num_indices"] = draw.spelled(rng, num_indices)
    arguments["indices"] = np.concatenate([indices, indices[: more(rng)]])
    arguments["out"] = background(batch * outer * num_indices * inner + more(rng), params_type)
    if offset or draw.chance(rng, 0.5):
        arguments["offset"] = draw.spelled(rng, offset)
    return GatherCall(entry, (), arguments, "out")


class ExpandCall(Call):
    """Expand, with any strides."""

    def expected(self, device, primitive):
        src_dims, dst_dims = (tuple(map(int, self.arguments[name])) for name in ("src_dims", "dst_dims"))
        src_places = places(src_dims, self.arguments.get("src_strides"))
        dst = self.arguments[self.output].copy()
        values = self.arguments["src"][np.broadcast_to(src_places, dst_dims)]
        dst[places(dst_dims, self.arguments.get("dst_strides"))] = values
        return dst


def expand_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    dst_dims = draw.dims(rng, most)
    src_dims = draw.narrowed(rng, dst_dims)
    options = (int(rng.integers(max(len(dst_dims), 1), 9)),)
    arguments = {"src_dims": draw.spelled_dims(rng, src_dims), "dst_dims": draw.spelled_dims(rng, dst_dims)}
    if draw.chance(rng, 0.3):
        arguments["src_strides"] = draw.spelled_dims(rng, strides(rng, src_dims, overlapping=draw.chance(rng, 0.3)))
    if draw.chance(rng, 0.3):
        arguments["dst_strides"] = draw.spelled_dims(rng, strides(rng, dst_dims, overlapping=False))
    for name, sizes in (("src", src_dims), ("dst", dst_dims)):
        reached = places(sizes, arguments.get(f"{name}_strides"))
        needed = int(reached.max()) + 1 if reached.size else 0
        make = any_bits if name == "src" else lambda _, count, of_type: background(count, of_type)
        arguments[name] = make(rng, needed + more(rng), data_type)
    return ExpandCall(entry, options, arguments, "dst")


def places(sizes, steps) -> np.ndarray:
    """Return the place of each element in memory, in the shape of the dims; row-major if there are no strides."""
    if steps is None:
        return np.arange(math.prod(sizes)).reshape(sizes)
    result = np.zeros(sizes, np.int64)
    for axis, step in enumerate(steps):
        result += int(step) * np.arange(sizes[axis]).reshape(-1, *[1] * (len(sizes) - axis - 1))
    return result


def strides(rng, sizes, overlapping):
    """Return strides of any order of the axes, with gaps; if `overlapping`, some are 0."""
    result, step = [0] * len(sizes), 1
    for axis in rng.permutation(len(sizes)):
        result[axis] = 0 if overlapping and draw.chance(rng, 0.5) else step
        step = step * max(sizes[axis], 1) + (int(rng.integers(3)) if draw.chance(rng, 0.3) else 0)
    return tuple(result)


def any_bits(rng, count, data_type) -> np.ndarray:
    """Return elements with random bits, including all kinds of NaN; bool is 0 or 1."""
    data = rng.integers(0, 2 if data_type.dtype.kind == "b" else 256, count * data_type.itemsize, np.uint8)
    return data.view(data_type.dtype)


def more(rng) -> int:
    """Return the number of elements of a buffer beyond the necessary ones."""
    return int(rng.integers(4)) if draw.chance(rng, 0.3) else 0


MAKERS = {p.Gather: gather_call, p.BatchGather: gather_call, p.Expand: expand_call}
