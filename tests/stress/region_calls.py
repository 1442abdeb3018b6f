"""Calls of Permute, CopyNd, ConstantPad, Memcpy and Memset."""

import math

import numpy as np

from ep import DeviceType
from ep.include import primitive as p
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.guarded import Guarded
from tests.stress.movement_calls import any_bits, more


class TypedAtLaunch(Call):
    """A call whose data type is an argument of Launch."""

    def types(self):
        return ()


class PermuteCall(TypedAtLaunch):
    def expected(self, device, primitive):
        dims = tuple(map(int, self.arguments["src_dims"]))
        src = self.arguments["src"][: math.prod(dims)].reshape(dims)
        return src.transpose([int(axis) for axis in self.arguments["permutation"]]).reshape(-1)


def permute_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    dims = draw.dims(rng, most)
    count = math.prod(dims)
    arguments = {
        "data_type": spelled_type(rng, data_type),
        "src_dims": draw.spelled_dims(rng, dims),
        "src": any_bits(rng, count + more(rng), data_type),
        "permutation": draw.spelled_dims(rng, tuple(rng.permutation(len(dims)).tolist())),
        "dst": background(count + more(rng), data_type),
    }
    return PermuteCall(entry, (most_dims(rng, dims),), arguments, "dst")


class CopyNdCall(TypedAtLaunch):
    overlap_is_refused = False  # arrays may overlap if the boxes do not

    def expected(self, device, primitive):
        at = self.arguments
        src, dst = at["src"], at["dst"].copy()
        dst[self.places("dst")] = src[self.places("src")]
        return dst

    def places(self, side):
        """Return the places of the box in the memory of an array."""
        at = self.arguments
        dims, begin, extent = (tuple(map(int, at[name])) for name in (f"{side}_dims", f"{side}_pos", "extent"))
        whole = np.arange(math.prod(dims)).reshape(dims)
        box = tuple(slice(first, first + size) for first, size in zip(begin, extent, strict=True))
        return whole[box].reshape(-1)


def copy_nd_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    extent = draw.dims(rng, most // 4)
    longest = max(range(len(extent)), key=extent.__getitem__, default=0)
    shared = bool(extent) and draw.chance(rng, 0.2)
    sides = {}
    for side in ("dst", "src"):
        before, after = ([int(rng.integers(3)) if draw.chance(rng, 0.3) else 0 for _ in extent] for _ in "01")
        if math.prod(extent) > 1000:  # the surroundings of a large box are cut off along one axis only
            before, after = (
                [size if axis == longest else 0 for axis, size in enumerate(each)] for each in (before, after)
            )
        sides[side] = tuple(before), tuple(b + size + a for b, size, a in zip(before, extent, after, strict=True))
    if shared:  # two boxes of one array, one behind the other along an axis
        axis = int(rng.integers(len(extent)))
        dims = tuple(2 * size + 1 if each == axis else size for each, size in enumerate(extent))
        far = tuple(extent[axis] + 1 if each == axis else 0 for each in range(len(extent)))
        near = (0,) * len(extent)
        sides = (
            {"dst": (far, dims), "src": (near, dims)}
            if draw.chance(rng, 0.5)
            else {"dst": (near, dims), "src": (far, dims)}
        )
    src = any_bits(rng, math.prod(sides["src"][1]) + more(rng), data_type)
    arguments = {
        "data_type": spelled_type(rng, data_type),
        "dst": src if shared else background(math.prod(sides["dst"][1]) + more(rng), data_type),
        "dst_dims": draw.spelled_dims(rng, sides["dst"][1]),
        "dst_pos": draw.spelled_dims(rng, sides["dst"][0]),
        "src": src,
        "src_dims": draw.spelled_dims(rng, sides["src"][1]),
        "src_pos": draw.spelled_dims(rng, sides["src"][0]),
        "extent": draw.spelled_dims(rng, extent),
    }
    return CopyNdCall(entry, (most_dims(rng, extent),), arguments, "dst", "src" if shared else None)


class ConstantPadCall(Call):
    def dst_dims(self):
        """Return the sizes of dst."""
        names = "src_dims", "padding_before", "padding_after"
        return tuple(map(sum, zip(*(map(int, self.arguments[name]) for name in names), strict=True)))

    def is_empty(self):
        return math.prod(self.dst_dims()) == 0

    def expected(self, device, primitive):
        at = self.arguments
        dims, before = (tuple(map(int, at[name])) for name in ("src_dims", "padding_before"))
        src, dst = at["src"][: math.prod(dims)].reshape(dims), np.full(self.dst_dims(), at["pad_val"], at["src"].dtype)
        for at_dst in np.ndindex(dst.shape[:-1]):
            at_src = tuple(i - b for i, b in zip(at_dst, before, strict=False))
            if all(0 <= i < size for i, size in zip(at_src, dims, strict=False)):
                columns = np.arange(dst.shape[-1]) - before[-1] if dims else np.zeros(1, int)
                inside = (columns >= 0) & (columns < (dims[-1] if dims else 1))
                if dims:
                    dst[at_dst][inside] = src[at_src][columns[inside]]
        return (dst if dims else src).reshape(-1)


def constant_pad_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    dims = draw.dims(rng, most // 8, 4)
    before, after = (tuple(int(rng.integers(-2, 4)) if draw.chance(rng, 0.5) else 0 for _ in dims) for _ in "01")
    after = tuple(max(a, -size - b) for a, b, size in zip(after, before, dims, strict=True))
    call = ConstantPadCall(entry, (), {"src_dims": dims, "padding_before": before, "padding_after": after}, "dst")
    call.arguments |= {
        "src_dims": draw.spelled_dims(rng, dims),
        "src": any_bits(rng, math.prod(dims) + more(rng), data_type),
        "padding_before": draw.spelled_dims(rng, before),
        "padding_after": draw.spelled_dims(rng, after),
        "pad_val": draw.pick(rng, (1, 2.0, True, np.float32(3), np.int64(100), 0)),
        "dst": background(math.prod(call.dst_dims()) + more(rng), data_type),
    }
    return call


class ByteCall(Call):
    """Memcpy, or Memset: buffers of any type."""

    typed_buffers = False

    def types(self):
        return ()


class MemcpyCall(ByteCall):
    def place(self, device, rng):
        """Return the buffers and all arguments; the host's buffer, if the kind names one, is in host memory."""
        host, kind = DeviceUnderTest(DeviceType.kCPU), self.entry.op.name
        of_host = {"kHtoD": "src", "kDtoH": "dst"}.get(kind)
        buffers = {
            name: Guarded(host if name == of_host else device, rng, self.arguments[name]) for name in ("src", "dst")
        }
        return buffers, {**{name: buffer.view for name, buffer in buffers.items()}, "count": self.arguments["count"]}

    def expected(self, device, primitive):
        return self.arguments["src"][: int(self.arguments["count"])]


def memcpy_call(rng, device, entry, most):
    count = math.prod(draw.dims(rng, most, 2))
    src, dst = (rng.integers(0, 256, count + more(rng), np.uint8) for _ in "01")
    return MemcpyCall(entry, (), {"dst": dst, "src": src, "count": draw.spelled(rng, count)}, "dst")


class MemsetCall(ByteCall):
    def expected(self, device, primitive):
        return np.full(int(self.arguments["count"]), int(self.arguments["value"]), np.uint8)


def memset_call(rng, device, entry, most):
    count = math.prod(draw.dims(rng, most, 2))
    dst, value = rng.integers(0, 256, count + more(rng), np.uint8), draw.pick(rng, (0, 1, 77, 255, np.uint8(200)))
    return MemsetCall(entry, (), {"dst": dst, "value": value, "count": draw.spelled(rng, count)}, "dst")


def spelled_type(rng, data_type):
    """Return a data type, sometimes as a NumPy dtype."""
    return data_type if draw.chance(rng, 0.8) or data_type.name == "kChar" else data_type.dtype


def most_dims(rng, dims):
    """Return a sufficient max_num_dims."""
    return int(rng.integers(max(len(dims), 1), 9))


MAKERS = {
    p.Permute: permute_call,
    p.CopyNd: copy_nd_call,
    p.ConstantPad: constant_pad_call,
    p.Memcpy: memcpy_call,
    p.Memset: memset_call,
}
