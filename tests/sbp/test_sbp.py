"""Placements: their notation, the pieces of ranks, the cost of moves, and the choice of signatures."""

import math

import numpy as np
import pytest

from ep.ops.declare.operator import operator_named
from ep.sbp import (
    Broadcast,
    Partial,
    PartialMax,
    PartialMin,
    PartialSum,
    SbpSignature,
    Split,
    assemble,
    bytes_moved,
    choices,
    choose,
    follows_from,
    moves,
    parse,
    parse_many,
    piece_shape,
    piece_sizes,
    pieces,
    route,
    sent,
    signatures_on_axis,
    span,
)

B, P = Broadcast(), PartialSum()


@pytest.mark.parametrize(
    ("text", "sbp"),
    [("S(0)", Split(0)), ("s(12)", Split(12)), (" B ", B), ("P", P), ("PMax", PartialMax()), ("pmin", PartialMin())],
)
def test_written_and_read(text, sbp):
    assert parse(text) == sbp
    assert parse(str(sbp)) == sbp
    assert hash(parse(text)) == hash(sbp)


def test_several_axes_of_a_mesh():
    assert parse_many("S(0),B") == (Split(0), B)


@pytest.mark.parametrize("text", ["S", "S(-1)", "S(a)", "", "PP", "B(0)"])
def test_what_is_no_sbp(text):
    with pytest.raises(ValueError, match=r"is not an SBP; it must be S\(axis\), such as S\(0\), B, P, PMax or PMin"):
        parse(text)


def test_a_split_axis_counts_from_the_front():
    with pytest.raises(ValueError, match="axis is -1; that of a Split is counted from the front"):
        Split(-1)
    with pytest.raises(ValueError, match=r"table of shape \(3,\) has no axis 1 to be split along, as S\(1\) says"):
        Split(1).check((3,), "table")


@pytest.mark.parametrize(("size", "ranks"), [(7, 3), (2, 5), (0, 4), (12, 4), (50257, 64)])
def test_the_first_pieces_are_one_larger(size, ranks):
    sizes = piece_sizes(size, ranks)
    assert sizes == [len(part) for part in np.array_split(np.arange(size), ranks)]
    ends = [span(size, ranks, rank) for rank in range(ranks)]
    assert [end - begin for begin, end in ends] == sizes
    assert [begin for begin, _ in ends[1:]] == [end for _, end in ends[:-1]]
    assert piece_shape((3, size), Split(1), ranks, 0) == (3, sizes[0])
    assert piece_shape((3, size), P, ranks, 0) == (3, size)


@pytest.mark.parametrize("sbp", [Split(0), Split(1), B, P, PartialMax(), PartialMin()], ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 3, 9])
def test_pieces_make_the_whole(sbp, ranks, rng):
    array = rng.integers(-9, 9, (7, 4))
    parts = pieces(array, sbp, ranks)
    assert [part.shape for part in parts] == [piece_shape(array.shape, sbp, ranks, rank) for rank in range(ranks)]
    assert np.array_equal(assemble(parts, sbp, array.shape), array)


def test_pieces_that_are_wrong():
    with pytest.raises(ValueError, match=r"the piece of rank 1 has shape \(2,\); S\(0\) of \(3,\) has \(1,\) there"):
        assemble([np.zeros(2), np.zeros(2)], Split(0), (3,))
    with pytest.raises(ValueError, match="different values of what is broadcast"):
        assemble([np.zeros(2), np.ones(2)], B, (2,))


SIZE = 6 * 4 * 8
MOVES = {
    ("S(0)", "B"): ("all-gather", 2 * SIZE),
    ("P", "B"): ("all-reduce", 4 * SIZE),
    ("P", "S(1)"): ("reduce-scatter", 2 * SIZE),
    ("PMax", "S(1)"): ("reduce-scatter", 2 * SIZE),
    ("B", "S(1)"): ("local", 0),
    ("B", "P"): ("local", 0),
    ("B", "PMin"): ("local", 0),
    ("S(0)", "P"): ("local", 0),
}


@pytest.mark.parametrize(("source", "target"), MOVES)
def test_what_a_move_costs(source, target):
    (move,) = moves(parse(source), parse(target), (6, 4), 8, 3)
    assert (move.name, move.bytes) == MOVES[source, target]


def test_moves_by_way_of_broadcast():
    assert moves(P, P, (6, 4), 8, 3) == []
    assert moves(P, B, (6, 4), 8, 1) == []
    assert [move.name for move in moves(P, PartialMax(), (6, 4), 8, 3)] == ["all-reduce", "local"]
    assert [move.name for move in moves(Split(0), PartialMax(), (6, 4), 8, 3)] == ["all-gather", "local"]


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("shape", [(6, 4), (7, 11, 2), (1, 5), (0, 3)])
def test_an_exchange_moves_what_does_not_stay(shape, ranks):
    """The test counts, for each element, the ranks that have it before and after the exchange."""
    owner = [
        np.concatenate([np.full(size, rank) for rank, size in enumerate(piece_sizes(shape[axis], ranks))])
        for axis in (0, 1)
    ]
    moved = (owner[0][:, None] != owner[1][None, :]).sum() * math.prod(shape[2:])
    assert bytes_moved(Split(0), Split(1), shape, 4, ranks) == 4 * moved


def gather_problem(params, indices, axis=0):
    operator = operator_named("gather")
    inputs = [np.zeros(params, np.float32), np.zeros(indices, np.int64)]
    return operator, operator.problem(inputs, operator.resolve(*inputs, axis), 4)


def on_one_axis(operator, problem, given, wanted=None):
    """Return the choice of signatures for a mesh of one axis."""
    places = [(one,) for one in given]
    return choices(operator, problem, (problem.ranks,), places, None if wanted is None else (wanted,))


def test_an_embedding_table_stays_where_it_is():
    operator, problem = gather_problem((50257, 768), (1024,))
    best, *_ = on_one_axis(operator, problem, [Split(0), B])
    assert str(best) == "S(0), B -> P"
    assert (best.bytes, best.inputs, best.output) == (0, ((), ()), ())
    assert best.cost == sent(best.later) == 3 * 1024 * 768 * 4
    best, *_ = on_one_axis(operator, problem, [Split(0), B], wanted=B)
    assert (str(best), best.bytes) == ("S(0), B -> P", 2 * 3 * 1024 * 768 * 4)
    (scattered, *_) = on_one_axis(operator, problem, [Split(0), B], wanted=Split(1))
    assert [step.move for step in scattered.output] == moves(P, Split(1), (1024, 768), 4, 4)


def test_a_small_table_is_gathered():
    operator, problem = gather_problem((10, 768), (100_000,))
    best, *_ = on_one_axis(operator, problem, [Split(0), Split(0)])
    assert (str(best), best.bytes) == ("B, S(0) -> S(0)", 3 * 10 * 768 * 4)


def test_a_partial_result_costs_what_it_takes_to_read_it():
    """Leaving the result partial moves nothing, but reading it then moves more bytes than splitting the table
    otherwise.
    """
    operator, problem = gather_problem((10, 768), (1000,))
    best, *others = on_one_axis(operator, problem, [Split(0), B])
    assert str(best) == "S(1), B -> S(1)"
    assert best.bytes == best.cost == bytes_moved(Split(0), Split(1), (10, 768), 4, 4)
    (left,) = (one for one in others if str(one) == "S(0), B -> P")
    assert (left.bytes, left.cost) == (0, 3 * 1000 * 768 * 4)
    sum_ = operator_named("sum")
    x = np.zeros(8)
    problem = sum_.problem([x], sum_.resolve(x), 4)
    assert on_one_axis(sum_, problem, [Split(0)])[0].cost == 2 * 3 * 8  # a number cannot be split


def test_all_results_count():
    operator = operator_named("split")
    x = np.zeros((6, 4))
    problem = operator.problem([x], operator.resolve(x, 3), 2)
    (best, *_) = on_one_axis(operator, problem, [P], wanted=B)
    assert best.bytes == 2 * 6 * 4 * 8


def test_no_choice_is_better_than_the_first():
    operator, problem = gather_problem((8, 6), (12,))
    for params in map(parse, ("S(0)", "S(1)", "B", "P")):
        for indices in map(parse, ("S(0)", "B")):
            found = on_one_axis(operator, problem, [params, indices], Split(0))
            assert [one.cost for one in found] == sorted(one.cost for one in found)
            assert {one.signatures for one in found} == {(one,) for one in operator.signatures(problem)}


def test_each_axis_of_a_mesh_has_a_signature():
    operator, problem = gather_problem((50257, 768), (1024,))
    chosen = choose(operator, problem, (2, 4), [(Split(0), Split(1)), (B, B)])
    assert [str(one) for one in chosen.signatures] == ["S(0), B -> P", "S(1), B -> S(1)"]
    assert chosen.bytes == 0
    assert chosen.cost == 1024 * 768 * 4  # in each of 4 groups of 2, a quarter of the rows


@pytest.mark.parametrize("wanted", [None, "B,B", "S(0),B"])
@pytest.mark.parametrize("given", ["S(0),S(1)", "S(1),S(0)", "P,S(0)", "S(0),B"])
def test_the_axes_of_a_mesh_are_chosen_together(given, wanted):
    """No combination of signatures of the two axes moves fewer bytes."""
    operator, problem = gather_problem((37, 8), (24,))
    mesh, places = (2, 3), [parse_many(given), parse_many("B,S(0)")]
    target = None if wanted is None else parse_many(wanted)
    best = choose(operator, problem, mesh, places, target)
    for first in operator.signatures(problem._replace(ranks=2)):
        for second in signatures_on_axis(operator, problem, [first], mesh):
            moved = sum(
                sent(route(lies, (first.inputs[place], second.inputs[place]), problem.shapes[place], size, mesh))
                for place, (lies, size) in enumerate(zip(places, (4, 8), strict=True))
            )
            out = first.outputs[0], second.outputs[0]
            read = tuple(Split(0) if isinstance(one, Partial) else one for one in out) if target is None else target
            assert best.cost <= moved + sent(route(out, read, (24, 8), 4, mesh))


def test_wrong_placements():
    operator, problem = gather_problem((8, 6), (12,))
    with pytest.raises(ValueError, match="there are 2 inputs, and 1 placements were given"):
        on_one_axis(operator, problem, [B])
    with pytest.raises(ValueError, match=r"input 1 of shape \(12,\) has no axis 1"):
        on_one_axis(operator, problem, [B, Split(1)])
    with pytest.raises(ValueError, match=r"the output of shape \(12, 6\) has no axis 2"):
        on_one_axis(operator, problem, [B, B], Split(2))


def test_what_follows_at_no_cost():
    listed = [SbpSignature((PartialMax(), PartialMax()), (PartialMax(),)), SbpSignature((B, B), (B,))]
    assert follows_from(SbpSignature((B, PartialMax()), (PartialMax(),)), listed) is listed[0]
    assert follows_from(SbpSignature((B, B), (PartialMin(),)), listed) is listed[1]
    assert follows_from(SbpSignature((B, B), (P,)), listed) is None
    assert follows_from(SbpSignature((PartialMax(), B), (B,)), listed) is None


def test_expand_has_physical_sizes():
    """`(4, 3, 1, 2)` to `(2, 4, 3, 4, 2)`, split on its last axis over two ranks: each has `(2, 4, 3, 4, 1)`."""
    operator = operator_named("expand")
    x = np.zeros((4, 3, 1, 2))
    problem = operator.problem([x], operator.resolve(x, 2, 4, 3, 4, 2), 2)
    (signature,) = (one for one in operator.signatures(problem) if one.inputs == (Split(3),))
    assert signature.outputs == (Split(4),)
    for rank in range(2):
        assert operator.local_attributes(problem, signature, rank)["sizes"] == (2, 4, 3, 4, 1)
