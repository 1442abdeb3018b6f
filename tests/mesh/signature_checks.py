"""The signatures of all operators on real ranks: every combination of placements, in the cases of `tests.sbp`.

What is listed gives the whole result. What is not listed is refused on every rank, before anything is sent; that it is
wrong, or left out for a reason, is shown in one process (`tests/sbp/test_exhaustion.py`).
"""

import re
import time
import zlib

import numpy as np
import pytest

from ep.include.device_type import DeviceType
from ep.mesh import GlobalTensor, Placement, under
from ep.mesh.world import world
from ep.ops.devices import arrays_on
from tests.sbp.exhaustion import Trial, combinations
from tests.sbp.test_exhaustion import ELEMENTWISE, OTHERS, name_of


def compute(case, pieces, placement, signature, attributes):
    inputs = [
        GlobalTensor(np.asarray(piece), tuple(shape), placement, (place,))
        for piece, shape, place in zip(pieces, case.shapes, signature.inputs, strict=True)
    ]
    with under(signature):
        return inputs[0].operands.compute(case.operator, inputs, attributes, None)


def compile_once(case, attributes):
    """On the first rank, while the others wait: else all would compile the same kernels."""
    if world().rank == 0:
        wholes = [np.zeros(shape, dtype) for shape, dtype in zip(case.shapes, case.dtypes, strict=True)]
        case.operator.compute(arrays_on(DeviceType.kCPU), wholes, attributes)
    done = world().Ibarrier()
    while not done.Test():  # which leaves the cores to the one that compiles, as a wait of MPI does not
        time.sleep(0.002)


def check(case):
    """Listed signatures are right, and others are refused; returns how many there are of each."""
    placement = Placement(world().size)
    problem = case.problem(placement.ranks)
    listed = case.operator.signatures(problem)
    rng = np.random.default_rng(zlib.crc32(name_of(case).encode()))
    with np.errstate(all="ignore"):
        compile_once(case, problem.attributes)
        for signature in listed:
            trial = Trial(case, problem, signature.inputs, rng, 0)
            mine = [parts[placement.rank] for parts in trial.parts]
            results = compute(case, mine, placement, signature, problem.attributes)
            assert [one.sbp for one in results] == [(place,) for place in signature.outputs]
            for result, whole in zip(results, trial.whole, strict=True):
                assert trial.close(result.numpy(), whole, finite=True), str(signature)
    others = [signature for signature in combinations(problem) if signature not in listed]
    for signature in others:
        with pytest.raises(ValueError, match=rf"has no signature {re.escape(str(signature))} here; it has"):
            compute(case, mine, placement, signature, problem.attributes)
    return len(listed), len(others)


CASES = {name_of(case): case for case in [*ELEMENTWISE, *OTHERS]}
