"""The signatures of all operators on real ranks: every combination of placements, in the cases of `tests.sbp`.

Listed signatures give the whole result. Other signatures are refused before anything is sent: a rank refuses one by
itself, while the other ranks try other signatures. `tests/sbp/test_exhaustion.py` shows in one process that unlisted
signatures are wrong, or left out for a reason.
"""

import re
import zlib

import numpy as np
import pytest

from ep.mesh import GlobalTensor, Placement, under
from ep.mesh.world import world
from ep.sbp import Broadcast, signatures_on_axis
from tests.sbp.exhaustion import Trial, combinations
from tests.sbp.test_exhaustion import ELEMENTWISE, OTHERS, name_of
from tests.sbp.test_mesh import on_mesh


def compute(case, pieces, placement, signatures, attributes):
    places = zip(*(one.inputs for one in signatures), strict=True)
    inputs = [
        GlobalTensor(np.asarray(piece), tuple(shape), placement, sbps)
        for piece, shape, sbps in zip(pieces, case.shapes, places, strict=True)
    ]
    with under(*signatures):
        return inputs[0].operands.compute(case.operator, inputs, attributes, None)


def check(case):
    """Check that listed signatures are right, and that others are refused, each by one rank."""
    placement = Placement(world().size)
    problem = case.problem(placement.ranks)
    listed = case.operator.signatures(problem)
    rng = np.random.default_rng(zlib.crc32(name_of(case).encode()))
    with np.errstate(all="ignore"):
        for signature in listed:
            trial = Trial(case, problem, signature.inputs, rng, 0)
            mine = [parts[placement.rank] for parts in trial.parts]
            results = compute(case, mine, placement, [signature], problem.attributes)
            assert [one.sbp for one in results] == [(place,) for place in signature.outputs]
            for result, whole in zip(results, trial.whole, strict=True):
                assert trial.close(result.numpy(), whole, finite=True), str(signature)
    others = [signature for signature in combinations(problem) if signature not in listed]
    for signature in others[placement.rank :: placement.ranks]:
        with pytest.raises(ValueError, match=rf"has no signature {re.escape(str(signature))} here; it has"):
            compute(case, mine, placement, [signature], problem.attributes)


def check_two_axes():
    """Check some signatures of both axes of the mesh for each case on 2 x 2 ranks; all are tried in one process."""
    placement = Placement((2, 2) if world().size == 4 else (world().size, 1))
    mesh = placement.mesh
    for case in OTHERS:
        rng = np.random.default_rng(zlib.crc32(name_of(case).encode()))
        problem = case.problem(mesh[0])
        for _ in range(3):
            first = draw(rng, case.operator.signatures(problem))
            both = [first, draw(rng, signatures_on_axis(case.operator, problem, [first], mesh))]
            with np.errstate(all="ignore"):
                trial = Trial(case, problem, [Broadcast()] * len(case.shapes), rng, 0)
                wholes = [parts[0] for parts in trial.parts]
                places = zip(*(one.inputs for one in both), strict=True)
                parts = [on_mesh(whole, sbps, rng, mesh) for whole, sbps in zip(wholes, places, strict=True)]
                mine = [one[placement.coordinates] for one in parts]
                results = compute(case, mine, placement, both, problem.attributes)
                for result, whole in zip(results, trial.whole, strict=True):
                    assert trial.close(result.numpy(), whole, finite=True), f"{name_of(case)}: {first}; {both[1]}"


def draw(rng, signatures):
    return signatures[rng.integers(len(signatures))]


CASES = {name_of(case): case for case in [*ELEMENTWISE, *OTHERS]}
