"""Results written to random views of one memory, which overlap operands, each other and themselves.

Either the call is refused, and nothing is written, or the memory is as NumPy's model has it: operands are read first,
and each element of a result has a place of its own.
"""

import itertools
import math

import numpy as np

import ep
from ep.include.errors import UnsupportedPrimitiveError
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = False, 180, ("cpu",)

DTYPES = ("int8", "uint8", "int16", "float16", "float32", "int32", "int64", "float64", "complex128")
BYTES = 40_000

CALLS = {
    "identity": (1, lambda x: x),
    "negative": (1, lambda x: -x),
    "square": (1, lambda x: x * x),
    "add": (2, lambda x, y: x + y),
    "sub": (2, lambda x, y: x - y),
    "mul": (2, lambda x, y: x * y),
    "permute": (1, lambda x: x.transpose()),
    "repeat": (1, lambda x: np.tile(x, (2,) * x.ndim)),
    "gather": (1, lambda x: x[[0, -1, 0]]),
    "expand": (1, lambda x: np.broadcast_to(x, (2, *x.shape))),
}


def trial(rng, tag):
    memory = rng.integers(0, 3, BYTES).astype(np.uint8)
    for _ in range(20):
        memory[:] = rng.integers(0, 3, BYTES)  # small integers, without NaN
        pick(rng, (operator, operator, fused, block))(rng, memory)


def operator(rng, memory):
    """Call one operator with `out`."""
    name = pick(rng, [*CALLS])
    count, model = CALLS[name]
    dtype = np.dtype(pick(rng, DTYPES))
    shape = drawn_shape(rng, least=name == "gather")
    operands = [view(rng, memory, shape, dtype) for _ in range(count)]
    result = model(*(one.copy() for one in operands))
    out = pick(rng, operands) if chance(rng, 0.1) and result.shape == shape else view(rng, memory, result.shape, dtype)
    attributes = {
        "permute": [tuple(range(len(shape)))[::-1]],
        "repeat": [(2,) * len(shape)],
        "gather": [np.array([0, shape[0] - 1, 0])] if shape else [],
        "expand": [result.shape],
    }
    rest = attributes.get(name, [])
    tried(memory, name, operands, [out], [result], lambda: getattr(ep.ops, name)(*operands, *rest, out=out))


def _of_two(x, y):
    return x + y, x - y * y


FUSED = ep.fuse(_of_two)


def fused(rng, memory):
    """Call a fused function with two results."""
    dtype, shape = np.dtype(pick(rng, ("float32", "int32", "float64"))), drawn_shape(rng)
    operands = [view(rng, memory, shape, dtype) for _ in range(2)]
    outs = [view(rng, memory, shape, dtype), operands[0] if chance(rng, 0.1) else view(rng, memory, shape, dtype)]
    results = _of_two(*(one.copy() for one in operands))
    tried(memory, "fused", operands, outs, results, lambda: FUSED(*operands, out=tuple(outs)))


def block(rng, memory):
    """Assign to two views in a block: two values, or one value to both."""
    dtype, shape, same = np.dtype(pick(rng, ("float32", "int32"))), drawn_shape(rng), chance(rng, 0.4)
    operands = [view(rng, memory, shape, dtype) for _ in range(2)]
    outs = [view(rng, memory, shape, dtype) for _ in range(2)]
    if layout(outs[0]) == layout(outs[1]):
        outs[1] = outs[0]  # two views of the same elements are one view, which has the value that is assigned last
    total, other = _of_two(*(one.copy() for one in operands))

    def assign():
        with ep.lazy() as lazy:
            x, y, one, two = map(lazy.view, (*operands, *outs))
            values = _of_two(x, y)
            one[...], two[...] = values[0], values[not same]

    tried(memory, "block", operands, outs, [total, total if same else other], assign)


def tried(memory, what, operands, outs, results, call):
    """Call, and compare the memory with the model."""
    before, expected = memory.copy(), memory.copy()
    for out, result in zip(outs, results, strict=True):
        begin = out.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        np.ndarray(out.shape, out.dtype, expected, begin, out.strides)[...] = result
    taken = [places(memory, one) for one in {id(one): one for one in outs}.values()]
    are_apart = all(len({*some}) == len(some) for some in taken)
    are_apart &= all({*some}.isdisjoint(other) for some, other in itertools.combinations(taken, 2))
    shown = f"{what}: operands {[*map(layout, operands)]}, results {[*map(layout, outs)]}"
    try:
        call()
    except (TypeError, ValueError, UnsupportedPrimitiveError) as error:
        if (memory != before).any():
            raise AssertionError(f"{shown}: refused, but written: {error}") from error
        reached = [{*range(min(some), max(some) + 1)} for some in taken if some]
        of_operands = [some for some in (places(memory, one) for one in operands) if some]
        reached += [{*range(min(some), max(some) + 1)} for some in of_operands]
        evenly = all(step % one.itemsize == 0 for one in (*operands, *outs) for step in one.strides)
        if isinstance(error, UnsupportedPrimitiveError):
            return
        if are_apart and evenly and all(one.isdisjoint(other) for one, other in itertools.combinations(reached, 2)):
            raise AssertionError(f"{shown}: refused: {error}") from error
        return
    if not are_apart:
        raise AssertionError(f"{shown}: not refused")
    if (memory != expected).any():
        raise AssertionError(f"{shown}: another result than NumPy's, at bytes {np.flatnonzero(memory != expected)}")


def drawn_shape(rng, least=0):
    """Return sizes of few elements."""
    shape = [int(size) for size in rng.integers(1, 6, int(rng.integers(least, 4)))]
    if len(shape) > least and chance(rng, 0.05):
        shape[int(rng.integers(least, len(shape)))] = 0
    return tuple(shape)


def view(rng, memory, shape, dtype):
    """Return an array somewhere in the memory, with strides of any kind."""
    way = pick(rng, ("contiguous", "contiguous", "permuted", "any", "any", "few", "bytes"))
    size, steps = dtype.itemsize, [0] * len(shape)
    if way in ("contiguous", "permuted"):
        step, gap = size, size * pick(rng, (0, 0, 1)) if way == "permuted" else 0
        order = [*range(len(shape))][::-1] if way == "contiguous" else rng.permutation(len(shape))
        for axis in order:
            steps[axis] = step * (pick(rng, (1, -1)) if way == "permuted" else 1)
            step = step * shape[axis] + gap
    else:
        most = {"any": 20, "few": 3, "bytes": 30}[way]
        steps = [int(rng.integers(-most, most + 1)) * (1 if way == "bytes" else size) for _ in shape]
    reach = [(count - 1) * step for count, step in zip(shape, steps, strict=True)] if 0 not in shape else []
    low, high = sum(min(one, 0) for one in reach), sum(max(one, 0) for one in reach) + size
    begin = int(rng.integers(-low, BYTES - high + 1)) if 0 not in shape else 0
    if chance(rng, 0.9):
        begin = -(-begin // size) * size
    begin = min(begin, BYTES - high) if 0 not in shape else 0
    return np.ndarray(shape, dtype, memory, begin, steps)


def places(memory, array):
    """Return the bytes of the memory that an array has, each as often as elements have it."""
    begin = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    axes = [*zip(array.shape, array.strides, strict=True), (array.itemsize, 1)]
    if not math.prod(count for count, _ in axes):
        return []
    return [begin + sum(steps) for steps in itertools.product(*([k * step for k in range(n)] for n, step in axes))]


def layout(array):
    return array.dtype.name, array.shape, array.strides, array.__array_interface__["data"][0]
