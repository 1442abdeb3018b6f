"""Calls of Matmul, BatchMatmul and BroadcastMatmul: of small positive integers, whose results are rounded only once."""

import math

from ep.include import primitive as p
from ep.testing.references.matmul import N, T, product, stored
from tests.stress import draw
from tests.stress.call import Call
from tests.stress.movement_calls import more

_DEEPEST = 100  # so that float16 can hold the sums of broadcast operands, too


class ProductCall(Call):
    def is_empty(self):
        return any(math.prod(int(size) for size in dims) == 0 for dims in self.dims())

    def dims(self):
        """Return the dims of a, b and c in memory."""
        at = self.arguments
        if "a_dims" in at:
            return [tuple(map(int, at[f"{name}_dims"])) for name in "abc"]
        batch = (int(at["batch_size"]),) if "batch_size" in at else ()
        m, n, k = (int(at[name]) for name in "mnk")
        a, b = self.options[:2]
        return [stored((*batch, m, k), a), stored((*batch, k, n), b), (*batch, m, n)]

    def expected(self, device, primitive):
        at, dims = self.arguments, self.dims()
        a, b, c = (at[name][: math.prod(each)].reshape(each) for name, each in zip("abc", dims, strict=True))
        result, _ = product(at["alpha"], a, b, at["beta"], c, self.options[:2])
        whole = at["c"].copy()
        whole[: result.size] = result.reshape(-1).astype(c.dtype)
        return whole


def _call(rng, entry, dims, transposes, sizes, *options):
    """Return a call. dims: those of a, b and c in the product; sizes: the sizes that Launch takes."""
    (data_type,) = entry.dtypes
    arrays = {
        name: rng.integers(1, 4, math.prod(each) + more(rng)).astype(data_type.dtype)
        for name, each in zip("abc", dims, strict=True)
    }
    of_type = (0, 1, 1, 2, 3 if data_type.dtype.kind in "iu" else 0.5)
    numbers = {name: draw.pick(rng, of_type) for name in ("alpha", "beta")}
    return ProductCall(entry, (*transposes, *options), {**sizes, **numbers, **arrays}, "c")


def _sizes(rng, most):
    m, n = draw.size(rng, most), draw.size(rng, most)
    n = n if m * n <= most else 1
    k = min(draw.size(rng, max(most // max(m, n), 1)), _DEEPEST)
    sizes = [m, n, k]
    if draw.chance(rng, 0.05):
        sizes[int(rng.integers(3))] = 0
    return sizes


def matmul_call(rng, device, entry, most):
    m, n, k = _sizes(rng, most // 4)
    transposes = draw.pick(rng, (N, T)), draw.pick(rng, (N, T))
    batch = () if entry.interface is p.Matmul else (draw.pick(rng, (0, 1, 2, 3, 7)),)
    named = {"batch_size": batch[0]} if batch else {}
    sizes = {name: draw.spelled(rng, size) for name, size in (named | {"m": m, "n": n, "k": k}).items()}
    return _call(rng, entry, ((*batch, m, k), (*batch, k, n), (*batch, m, n)), transposes, sizes)


def broadcast_matmul_call(rng, device, entry, most):
    m, n, k = _sizes(rng, most // 100)
    transposes = draw.pick(rng, (N, T)), draw.pick(rng, (N, T))
    whole = draw.dims(rng, 20, 5)
    a, b, c = (draw.narrowed(rng, whole) for _ in range(3))
    dims = stored((*a, m, k), transposes[0]), stored((*b, k, n), transposes[1]), (*c, m, n)
    named = {f"{name}_dims": draw.spelled_dims(rng, each) for name, each in zip("abc", dims, strict=True)}
    return _call(rng, entry, dims, transposes, named, int(rng.integers(max(map(len, dims)), 9)))


MAKERS = {p.Matmul: matmul_call, p.BatchMatmul: matmul_call, p.BroadcastMatmul: broadcast_matmul_call}
