"""Every change of placement, for all data types, and its bytes moved, compared with those of the cost model."""

import itertools

import numpy as np
import pytest

import ep.ops
from ep.include.data_type import DataType
from ep.mesh import Placement, from_whole, reporting, to_global
from ep.mesh.world import world
from ep.sbp import Broadcast, PartialMax, PartialMin, PartialSum, Split, assemble, parse, piece_shape

PARTIALS = {PartialSum(): np.add, PartialMax(): np.maximum, PartialMin(): np.minimum}
TYPES = [data_type for data_type in DataType if data_type is not DataType.kChar]


def rng():
    """Return a generator with the same seed on all ranks."""
    return np.random.default_rng(27)


def drawn(generator, shape, dtype):
    """Return numbers whose sums over a few ranks are exact in any order."""
    numbers = generator.integers(0 if dtype.kind in "bu" else -8, 2 if dtype.kind == "b" else 8, shape)
    if dtype.kind == "c":
        return (numbers + 1j * generator.integers(-8, 8, shape)).astype(dtype)
    return numbers.astype(dtype)


def parts_of(generator, sbp, shape, dtype, ranks):
    """Return each rank's piece of a tensor of random numbers, and the whole tensor."""
    if sbp in PARTIALS:
        parts = [drawn(generator, shape, dtype) for _ in range(ranks)]
        return parts, np.asarray(assemble(parts, sbp, shape))
    whole = drawn(generator, shape, dtype)
    if isinstance(sbp, Broadcast):
        return [whole] * ranks, whole
    sizes = [piece_shape(shape, sbp, ranks, rank)[sbp.axis] for rank in range(ranks)]
    return np.split(whole, np.cumsum(sizes)[:-1], sbp.axis), whole


def sbps(shape, dtype):
    orders = [] if dtype.kind == "c" else [PartialMax(), PartialMin()]
    return [*map(Split, range(len(shape))), Broadcast(), PartialSum(), *orders]


def value_of(tensor, target):
    """Return the whole tensor, which the reference assembles from the pieces of all ranks."""
    pieces = world().from_all(lambda: np.asarray(tensor.to_local()), "pieces")
    return assemble(pieces, target, tensor.shape)


def change(generator, source, target, shape, dtype):
    placement = Placement(world().size)
    parts, whole = parts_of(generator, source, shape, dtype, placement.ranks)
    tensor = to_global(parts[placement.rank], placement, source)
    assert tensor.shape == shape
    with reporting() as report:
        moved = tensor.to(target)
    assert moved.sbp == (target,)
    assert np.array_equal(value_of(moved, target), whole), (source, target, shape, dtype)
    assert sum(world().from_all(lambda: report.sent, "sent")) == report.bytes, (source, target, shape, dtype)
    if isinstance(target, Broadcast):
        assert np.array_equal(moved.numpy(), whole)


def check_every_change():
    """Check uneven pieces, empty pieces, tensors without elements, and tensors without axes."""
    generator = rng()
    for shape in [(7, 5), (2, 3, 9), (0, 4), (1,), ()]:
        places = sbps(shape, np.dtype(np.int32))
        for source, target in itertools.product(places, places):
            change(generator, source, target, shape, np.dtype(np.int32))


def check_every_data_type():
    generator = rng()
    for data_type in TYPES:
        dtype = data_type.dtype
        for source in sbps((5, 6), dtype):
            for target in (Broadcast(), Split(1)):
                change(generator, source, target, (5, 6), dtype)


def check_a_mesh_of_two_axes():
    ranks = world().size
    placement = Placement((2, 2) if ranks == 4 else (1, ranks))
    whole = np.arange(35.0).reshape(7, 5)
    places = list(map(parse, ["S(0)", "S(1)", "B", "P"]))
    for source in itertools.product(places, places):
        tensor = from_whole(whole, placement, source)
        for target in itertools.product(places, places):
            with reporting() as report:
                moved = tensor.to(target)
            assert np.array_equal(moved.numpy(), whole), (source, target)
            assert sum(world().from_all(lambda: report.sent, "sent")) == report.bytes, (source, target)


def check_nan_spreads():
    placement = Placement(world().size)
    for data_type in TYPES:
        dtype = data_type.dtype
        if dtype.kind in "biuc":
            continue
        local = np.array([np.nan if placement.rank == 1 else placement.rank, placement.rank], dtype)
        for sbp, last in (("PMax", placement.ranks - 1), ("PMin", 0)):
            (first, second) = to_global(local, placement, sbp).numpy().astype(float)
            assert np.isnan(first)
            assert second == last


def check_sums_of_16_bits_are_in_float32():
    """2048 + 1 + 1 + ... would be 2048 if float16 rounded each step."""
    placement = Placement(world().size)
    for name, large in (("float16", 2048), ("bfloat16", 256)):
        dtype = next(one.dtype for one in TYPES if one.dtype.name == name)
        local = np.full(3, large if placement.rank == 0 else 1, dtype)
        exact = np.float32(large + placement.ranks - 1).astype(dtype)
        assert (to_global(local, placement, "P").numpy() == exact).all()


def check_sums_have_the_same_bits_however_they_are_asked_for():
    """A sum has the same bits on all ranks, as a whole or in parts along any axis, at any place in the tensor, and
    repeatedly.
    """
    placement = Placement(world().size)
    own = np.random.default_rng(placement.rank).normal(size=(13, 17)).astype(np.float32)
    partial = to_global(own, placement, "P")
    whole = partial.numpy()
    bits = [whole.tobytes(), partial.to("S(0)").numpy().tobytes(), partial.to("S(1)").numpy().tobytes()]
    bits.append(partial.numpy().tobytes())
    assert len({one for rank in world().from_all(lambda: bits, "bits") for one in rank}) == 1
    row = to_global(own[5], placement, "P").numpy()
    assert row.tobytes() == whole[5].tobytes()


def check_axes_of_size_1():
    placement = Placement(world().size)
    whole = rng().integers(0, 9, (1, 7, 1, 5))
    for sbp in ("S(0)", "S(1)", "S(3)", "B", "P"):
        tensor = from_whole(whole, placement, sbp)
        for shape in [(7, 5), (7, 1, 5, 1), (1, 7, 1, 5)]:
            assert np.array_equal(tensor.reshape(shape).numpy(), whole.reshape(shape)), (sbp, shape)
    with pytest.raises(ValueError, match=r"shape is \(5, 6\); an array of shape .* cannot be reshaped to it"):
        tensor.reshape(5, 6)


def check_reshapes():
    """Each shape is reached from each placement; a split stays where pieces are the same part of the elements."""
    ranks = world().size
    whole = rng().integers(0, 99, (2 * ranks, 6, 5))
    shapes = {
        (12 * ranks, 5): "S(0)",
        (ranks, 2, 30): "S(0)",
        (2 * ranks, -1): "S(0)",
        (2 * ranks, 2, 3, 5): "S(0)",
        (-1,): "S(0)",
        (5, 6, 2 * ranks): "B",
        (2, ranks, 6, 1, 5): "B" if ranks > 2 else "S(0)",
    }
    for placement in (Placement(ranks), Placement((1, ranks))):
        lie = ["B"] * (len(placement.mesh) - 1)
        for shape, kept in shapes.items():
            for sbp in ("S(0)", "S(1)", "S(2)", "B", "P", "PMax"):
                tensor = from_whole(whole, placement, ",".join([*lie, sbp]))
                for found in (tensor.reshape(shape), tensor.reshape(*shape), ep.ops.reshape(tensor, shape)):
                    assert np.array_equal(found.numpy(), whole.reshape(shape)), (sbp, shape)
                if sbp == "S(0)":
                    assert ",".join(map(str, found.sbp)) == ",".join([*lie, kept]), shape
            assert found.shape == whole.reshape(shape).shape
        split = from_whole(whole, placement, ",".join([*lie, "S(2)"]))
        assert str(split.reshape(-1, 5).sbp[-1]) == "S(1)"
        numbers = whole.astype(np.float64)
        for call in (
            lambda m, x: m.roll(x, 7),
            lambda m, x: m.flip(x.reshape(6, -1)),
            lambda m, x: m.tensordot(x, x, axes=((0, 2), (0, 2))),
            lambda m, x: m.sum(x[:, None, 1:3].reshape(-1, 5), 0),
        ):
            for sbp in ("S(0)", "S(1)", "B"):
                tensor = from_whole(numbers, placement, ",".join([*lie, sbp]))
                assert np.array_equal(call(ep.ops, tensor).numpy(), call(np, numbers))


def check_operators_take_and_give_tensors():
    placement = Placement(world().size)
    table, tokens = rng().random((11, 5)), np.array([[10, 0, 3], [3, 3, 7]])
    rows = ep.ops.gather(from_whole(table, placement, "S(0)"), from_whole(tokens, placement, "B"))
    assert np.array_equal(rows.numpy(), table[tokens])
    x = from_whole(table, placement, "S(0)")
    assert x.sbp == ep.ops.relu(x).sbp
    assert np.array_equal(ep.ops.add(x, 2).numpy(), table + 2)
    assert np.array_equal(ep.ops.sub(1.5, x).numpy(), 1.5 - table)
    assert np.array_equal(ep.ops.concat([x, x], 1).numpy(), np.concatenate([table, table], 1))
    first, second = ep.ops.split(x, [2], 1)
    assert np.array_equal(second.numpy(), table[:, 2:])
    assert first.shape == (11, 2)
    y = from_whole(table.T.copy(), placement, "S(0)")
    assert np.allclose(ep.ops.matmul(x, y).numpy(), table @ table.T)
    assert np.array_equal(ep.ops.copy_to_host(x), table)
    whole = from_whole(table, placement, "B")
    assert ep.ops.relu(whole).sbp == (Broadcast(),)
