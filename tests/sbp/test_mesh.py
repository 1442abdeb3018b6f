"""A mesh of two axes, in one process: signatures of both axes together, and routes from one placement to another."""

import itertools

import numpy as np
import pytest

from ep import DeviceType
from ep.common.arrays.on_device import arrays_on
from ep.sbp import (
    Broadcast,
    PartialMax,
    PartialMin,
    PartialSum,
    Split,
    assemble,
    bytes_moved,
    parse_many,
    parse_signature,
    piece_shape_on,
    pieces,
    problem_on_axis,
    route,
    sent,
    signatures_on_axis,
)
from ep.sbp.sbp import Partial
from tests.sbp.exhaustion import Trial
from tests.sbp.test_exhaustion import OTHERS, name_of

MESH = (2, 3)


def parted(whole, place, ranks, rng):
    """Return each rank's piece of a tensor; every rank has values of a partial tensor, and sums do not overflow."""
    if not isinstance(place, Partial):
        return pieces(whole, place, ranks)
    owner = rng.integers(0, ranks, whole.shape)
    if isinstance(place, PartialSum):
        most = 0 if whole.dtype.kind == "u" else 3
        parts = [rng.integers(0, most + 1, whole.shape).astype(whole.dtype) for _ in range(ranks)]
        rest = whole - sum(parts)
        return [np.where(owner == rank, part + rest, part) for rank, part in enumerate(parts)]
    joined = np.minimum if isinstance(place, PartialMax) else np.maximum
    parts = [joined(whole, rng.permuted(whole.reshape(-1)).reshape(whole.shape)) for _ in range(ranks)]
    return [np.where(owner == rank, whole, part) for rank, part in enumerate(parts)]


def on_mesh(whole, places, rng, mesh=MESH):
    """Return each rank's piece, by its coordinates."""
    first, second = places
    rows = parted(whole, first, mesh[0], rng)
    if isinstance(first, Broadcast):
        parts = [parted(whole, second, mesh[1], rng)] * mesh[0]
    else:
        parts = [parted(row, second, mesh[1], rng) for row in rows]
    return {(row, column): parts[row][column] for row, column in itertools.product(*map(range, mesh))}


def together(parts, places, shape):
    first, second = places
    rows = []
    for row in range(MESH[0]):
        of_row = piece_shape_on(shape, places, MESH, (row, 0), but=1)
        rows.append(assemble([parts[row, column] for column in range(MESH[1])], second, of_row))
    return assemble(rows, first, shape)


@pytest.mark.parametrize("case", OTHERS, ids=name_of)
def test_signatures_of_both_axes(case, rng):
    """Every signature listed for the second axis, after a signature of the first axis, gives the whole result."""
    arrays, operator, problem = arrays_on(DeviceType.kCPU), case.operator, case.problem(MESH[0])
    for first in operator.signatures(problem):
        for second in signatures_on_axis(operator, problem, [first], MESH):
            both = [first, second]
            wholes = Trial(case, problem, [Broadcast()] * len(case.shapes), rng, 0)
            inputs = [
                on_mesh(parts[0], [one.inputs[position] for one in both], rng)
                for position, parts in enumerate(wholes.parts)
            ]
            found = {}
            for place in itertools.product(*map(range, MESH)):
                attributes = problem_on_axis(operator, problem, both, MESH, place).attributes
                found[place] = operator.compute(arrays, [parts[place] for parts in inputs], attributes)
            for position, whole in enumerate(wholes.whole):
                parts = {place: results[position] for place, results in found.items()}
                result = together(parts, [one.outputs[position] for one in both], whole.shape)
                assert wholes.close(result, whole, finite=True), f"{first}; {second}"


PLACES = [Split(0), Split(1), Broadcast(), PartialSum(), PartialMax()]


@pytest.mark.parametrize("source", list(itertools.product(PLACES, repeat=2)), ids=lambda both: ",".join(map(str, both)))
def test_routes(source):
    """Each step starts at the end of the one before. No step changes the first axis while the second axis splits the
    same tensor axis, or reduces a partial of the first axis while the second axis has a partial of another kind.
    """
    shape = (7, 5)
    for target in itertools.product(PLACES, repeat=2):
        steps, here = route(source, target, shape, 8, MESH), list(source)
        for axis, move in steps:
            assert here[axis] == move.source
            if axis == 0 and isinstance(here[1], Split):
                assert here[1] not in (move.source, move.target)
            if axis == 0 and isinstance(move.source, Partial) and isinstance(here[1], Partial):
                assert here[1] == move.source
            groups = [piece_shape_on(shape, here, MESH, (place, place), but=axis) for place in range(MESH[1 - axis])]
            ranks = MESH[axis]
            assert move.bytes == sum(bytes_moved(move.source, move.target, one, 8, ranks) for one in groups)
            here[axis] = move.target
        assert tuple(here) == target


def test_the_route_of_the_fewest_bytes():
    """A route sums before it gathers, and splits before it sums."""
    size = 6 * 6 * 4
    steps = route(parse_many("S(0),P"), parse_many("B,B"), (6, 6), 4, MESH)
    assert [(step.axis, step.move.name) for step in steps] == [(1, "all-reduce"), (0, "all-gather")]
    assert sent(steps) == 2 * 2 * size + 3 * size
    steps = route(parse_many("B,P"), parse_many("S(0),B"), (6, 6), 4, MESH)
    assert [(step.axis, step.move.name) for step in steps] == [(0, "local"), (1, "all-reduce")]
    assert route(parse_many("S(0),B"), parse_many("S(0),B"), (6, 6), 4, MESH) == []


def test_pieces_of_both_axes():
    assert piece_shape_on((7, 5), parse_many("S(0),S(0)"), MESH, (0, 0)) == (2, 5)
    assert piece_shape_on((7, 5), parse_many("S(0),S(0)"), MESH, (0, 0), but=1) == (4, 5)
    assert piece_shape_on((7, 5), parse_many("S(0),S(1)"), MESH, (1, 2)) == (3, 1)


def test_signatures_are_read():
    signature = parse_signature("S(0), B -> PMin")
    assert signature == ((Split(0), Broadcast()), (PartialMin(),))
    assert parse_signature(str(signature)) == signature
    with pytest.raises(ValueError, match=r"'B, B' is not a signature; it must be as S\(0\), B -> P"):
        parse_signature("B, B")
