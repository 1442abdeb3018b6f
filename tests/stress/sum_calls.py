"""Calls of Reduce, Scan, ArgSort, UnsortedSegmentSum, BatchUnsortedSegmentSum and BatchScatter."""

import math

import numpy as np

from ep import ReduceOp
from ep.include import DataType
from ep.include import primitive as p
from ep.include.primitive.op_table import REDUCTIONS
from ep.testing import reductions, scans, segments
from ep.testing.references.arg_sort import arg_sort
from ep.testing.references.scatter import scatter
from ep.testing.references.segment_sum import segment_sum
from ep.testing.samples import samples
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.movement_calls import more


class ReduceCall(Call):
    def expected(self, device, primitive):
        """Return the bits of a launch on separate memory, after checking that it is within the promised error bound."""
        at, op, (data_type,) = self.arguments, self.entry.op, self.entry.dtypes
        dims, axes = (tuple(map(int, at[name])) for name in ("src_dims", "axes"))
        src = at["src"][: math.prod(dims)].reshape(dims)
        count = math.prod(size for axis, size in enumerate(dims) if axis not in _gone(dims, axes))
        dst = device.filled(count, REDUCTIONS[op].result_type(data_type))
        primitive.Launch(device.stream, dims, device.buffer(src), axes, dst)
        got = device.array(dst)
        if src.size:
            reductions.check_close(device, op, data_type, got, src, axes)
        return got


def reduce_call(rng, device, entry, most):
    op, (data_type,) = entry.op, entry.dtypes
    dims = draw.dims(rng, most)
    chosen = [axis for axis in range(len(dims)) if draw.chance(rng, 0.5)]
    if op in (ReduceOp.kMin, ReduceOp.kMax):  # they have no result for zero elements
        dims = tuple(max(size, 1) for size in dims)
    axes = tuple(int(axis) - draw.pick(rng, (0, len(dims))) for axis in rng.permutation(chosen))
    count = math.prod(size for axis, size in enumerate(dims) if axis not in chosen)
    src = reductions.draw(rng, op, data_type, dims).reshape(-1) if math.prod(dims) else np.empty(0, data_type.dtype)
    arguments = {
        "src_dims": draw.spelled_dims(rng, dims),
        "src": np.concatenate([src, src[: more(rng)]]),
        "axes": draw.spelled_dims(rng, axes),
        "dst": background(count + more(rng), REDUCTIONS[op].result_type(data_type)),
    }
    return ReduceCall(entry, (int(rng.integers(max(len(dims), 1), 9)),), arguments, "dst")


def _gone(dims, axes):
    return {axis % len(dims) for axis in axes}


class ScanCall(Call):
    def expected(self, device, primitive):
        """Return the bits of a launch on separate memory, after checking that it is within the promised error bound."""
        at, key = self.arguments, (self.entry.op, *self.entry.dtypes)
        shape = tuple(int(at[name]) for name in ("outer_dim_size", "scan_dim_size", "inner_dim_size"))
        src = at["src"][: math.prod(shape)].reshape(shape)
        got = scans.launch(device, key, src)
        scans.check_close(key, got, src)
        return got.reshape(-1)


def scan_call(rng, device, entry, most):
    key = entry.op, *entry.dtypes
    outer, size, inner = draw.size(rng, 13), draw.size(rng, min(most, 40_000)), 1
    if draw.chance(rng, 0.5):
        inner = draw.size(rng, max(most // (outer * size), 1))
    sizes = {"outer_dim_size": outer, "scan_dim_size": size, "inner_dim_size": inner}
    if draw.chance(rng, 0.1):
        sizes[draw.pick(rng, list(sizes))] = 0
    src = scans.draw(rng, key, tuple(sizes.values())).reshape(-1)
    arguments = {name: draw.spelled(rng, number) for name, number in sizes.items()}
    arguments["src"] = np.concatenate([src, src[: more(rng)]])
    shared = "src" if draw.chance(rng, 0.3) else None
    arguments["dst"] = arguments["src"] if shared else background(src.size + more(rng), key[1])
    return ScanCall(entry, (), arguments, "dst", shared)


class SortCall(Call):
    def expected(self, device, primitive):
        at = self.arguments
        shape = tuple(int(at[name]) for name in ("outer_dim_size", "sort_dim_size", "inner_dim_size"))
        x = at["x"][: math.prod(shape)].reshape(shape)
        return arg_sort(self.entry.op, x, int(at["num_places"])).reshape(-1)


def sort_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    outer, size = draw.size(rng, 13), draw.size(rng, min(most, 3000))
    inner = draw.size(rng, min(max(most // (outer * size), 1), 700)) if draw.chance(rng, 0.5) else 1
    sizes = {"outer_dim_size": outer, "sort_dim_size": size, "inner_dim_size": inner}
    sizes["num_places"] = int(draw.pick(rng, (1, min(3, size), -(-size // 9), size)))
    if draw.chance(rng, 0.1):
        sizes[draw.pick(rng, ("outer_dim_size", "inner_dim_size", "num_places"))] = 0
    x = samples(rng, data_type, outer * size * inner)
    arguments = {name: draw.spelled(rng, number) for name, number in sizes.items()}
    arguments["x"] = np.concatenate([x, x[: more(rng)]])
    count = sizes["outer_dim_size"] * sizes["num_places"] * sizes["inner_dim_size"]
    arguments["places"] = background(count + more(rng), DataType.kInt64)
    return SortCall(entry, (), arguments, "places")


class SegmentCall(Call):
    """UnsortedSegmentSum, or BatchUnsortedSegmentSum."""

    def expected(self, device, primitive):
        """Return the bits of a launch on separate memory, after checking that its numbers are right."""
        at = self.arguments
        batch, outer, num_segments, inner, num_ids = (
            int(at.get(name, 1))
            for name in ("batch_dim_size", "outer_dim_size", "num_segments", "inner_dim_size", "num_ids")
        )
        data = at["data"][: batch * outer * num_ids * inner].reshape(batch, outer, num_ids, inner)
        ids = at["segment_ids"][: batch * num_ids].reshape(batch, num_ids)
        factory = p.BatchUnsortedSegmentSumFactory if "batch_dim_size" in at else p.UnsortedSegmentSumFactory
        key, offset = self.entry.dtypes, int(at.get("offset", 0))
        got = segments.launch(device, factory, key, data, ids, num_segments, offset)
        np.testing.assert_array_equal(got, segment_sum(data, ids, num_segments, offset))
        return got.reshape(-1)


def segment_call(rng, device, entry, most):
    data_type, ids_type = entry.dtypes
    batch = draw.size(rng, 13) if entry.interface is p.BatchUnsortedSegmentSum else 1
    outer = draw.size(rng, 13)
    num_ids = draw.size(rng, min(most, 4100) // (batch * outer))
    inner = draw.size(rng, most // (batch * outer * num_ids))
    num_segments = draw.size(rng, most // (batch * outer * inner))
    sizes = {"outer_dim_size": outer, "num_segments": num_segments, "inner_dim_size": inner, "num_ids": num_ids}
    if entry.interface is p.BatchUnsortedSegmentSum:
        sizes = {"batch_dim_size": batch, **sizes}
    if draw.chance(rng, 0.1):
        sizes[draw.pick(rng, list(sizes))] = 0
    outer, num_segments, inner, num_ids = list(sizes.values())[-4:]
    batch, offset = sizes.get("batch_dim_size", 1), int(draw.pick(rng, (0, 0, 0, 1, -3, 100)))
    data = segments.draw_data(rng, data_type, (batch * outer * num_ids * inner,))
    ids = segments.draw_ids(rng, ids_type, batch * num_ids, num_segments, offset)
    limits, outside = np.iinfo(ids_type.dtype), rng.random(ids.size) < draw.pick(rng, (0, 0, 0.1))
    ids[outside] = draw.pick(rng, (limits.min, limits.max))
    arguments = {name: draw.spelled(rng, size) for name, size in sizes.items()}
    arguments["data"] = np.concatenate([data, data[: more(rng)]])
    arguments["segment_ids"] = np.concatenate([ids, ids[: more(rng)]])
    arguments["out"] = background(batch * outer * num_segments * inner + more(rng), data_type)
    if offset or draw.chance(rng, 0.5):
        arguments["offset"] = draw.spelled(rng, offset)
    return SegmentCall(entry, (), arguments, "out")


class ScatterCall(Call):
    """BatchScatter. The output holds what updates are combined with."""

    def expected(self, device, primitive):
        """Return the bits of a launch on separate memory, after checking that its numbers are right."""
        at = self.arguments
        names = ("batch_dim_size", "outer_dim_size", "scatter_dim_size", "inner_dim_size", "num_indices")
        batch, outer, places, inner, number = (int(at[name]) for name in names)
        count, offset = batch * outer * places * inner, int(at.get("offset", 0))
        out = at["out"][:count].reshape(batch, outer, places, inner)
        updates = at["updates"][: batch * outer * number * inner].reshape(batch, outer, number, inner)
        indices = at["indices"][: batch * number].reshape(batch, number)
        written = device.buffer(out.reshape(-1))
        given = device.buffer(updates), number, device.buffer(indices), written, offset
        primitive.Launch(device.stream, batch, outer, places, inner, *given)
        got = device.array(written)
        want = scatter(self.entry.op, out, updates, indices, offset).reshape(-1)
        assert np.all((got == want) | ((got != got) & (want != want)))
        return got


def scatter_call(rng, device, entry, most):
    data_type, indices_type = entry.dtypes
    batch, outer = draw.size(rng, 7), draw.size(rng, 7)
    number = draw.size(rng, min(most, 1000) // (batch * outer))
    inner = draw.size(rng, min(most, 4000) // (batch * outer * number))
    places = draw.size(rng, most // (batch * outer * inner))
    if number > 64 and data_type.dtype.kind not in "biu":  # a device may combine more rows of one place in parts
        places = max(places, number)
    names = ("batch_dim_size", "outer_dim_size", "scatter_dim_size", "inner_dim_size", "num_indices")
    sizes = dict(zip(names, (batch, outer, places, inner, number), strict=True))
    if draw.chance(rng, 0.1):
        sizes[draw.pick(rng, list(sizes))] = 0
    batch, outer, places, inner, number = sizes.values()
    offset = int(draw.pick(rng, (0, 0, 0, 1, -3, 100)))
    updates, out = (samples(rng, data_type, batch * outer * size * inner + more(rng)) for size in (number, places))
    if data_type.dtype.kind == "c":  # of products, not all numbers have one result
        updates, out = (one.real.round().clip(-1, 1).astype(one.dtype) for one in (updates, out))
    indices = segments.draw_ids(rng, indices_type, batch * number, places, offset)
    arguments = {name: draw.spelled(rng, size) for name, size in sizes.items()}
    arguments |= {"updates": updates, "indices": np.concatenate([indices, indices[: more(rng)]]), "out": out}
    if offset or draw.chance(rng, 0.5):
        arguments["offset"] = draw.spelled(rng, offset)
    return ScatterCall(entry, (), arguments, "out")


MAKERS = {
    p.BatchScatter: scatter_call,
    p.Reduce: reduce_call,
    p.Scan: scan_call,
    p.ArgSort: sort_call,
    p.UnsortedSegmentSum: segment_call,
    p.BatchUnsortedSegmentSum: segment_call,
}
