"""Every combination of placements of an operator, tested in one process: correct for all data, or wrong for some data.

A trial runs as on ranks: each rank computes with its own pieces and the operator's local attributes. A combination is
correct for some data if the pieces of the results are the pieces of the whole result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from ep.common.arrays.on_device import arrays_on
from ep.include.device_type import DeviceType
from ep.ops.declare.operator import Operator, operator_named
from ep.sbp import Broadcast, PartialMax, PartialMin, PartialSum, Sbp, SbpSignature, Split, assemble, pieces

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

_COMBINE = {PartialSum: np.add, PartialMax: np.maximum, PartialMin: np.minimum}


@dataclass
class Case:
    """One use of an operator.

    shapes, dtypes: of the inputs. args, kwargs: the other arguments of its function.
    draws: for each kind of data, one Draw for each input.
    tolerance: of floating-point results, relative and absolute.
    """

    name: str
    shapes: Sequence[tuple[int, ...]]
    dtypes: Sequence[Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    draws: Sequence[Sequence[Draw]] = ()
    tolerance: float = 1e-9
    sequence: bool = False

    @property
    def operator(self) -> Operator:
        return operator_named(self.name)

    def attributes(self) -> Any:
        inputs = [np.zeros(shape, dtype) for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]
        given = [inputs] if self.sequence else inputs
        return self.operator.resolve(*given, *self.args, **self.kwargs)

    def problem(self, ranks: int) -> Any:
        inputs = [np.zeros(shape, dtype) for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]
        return self.operator.problem(inputs, self.attributes(), ranks)


def places(shape: Sequence[int], dtype: Any) -> list[Sbp]:
    """Return the possible placements of a tensor; sums of bool are PMax, and complex numbers have no order."""
    kind = np.dtype(dtype).kind
    partials = [PartialSum()] * (kind != "b") + [PartialMax(), PartialMin()] * (kind != "c")
    return [*(Split(axis) for axis in range(len(shape))), Broadcast(), *partials]


def combinations(problem: Any) -> Iterator[SbpSignature]:
    """Yield every conceivable signature."""
    inputs = [places(shape, one.dtype) for shape, one in zip(problem.shapes, problem.types, strict=True)]
    outputs = [places(shape, problem.out_type.dtype) for shape in problem.out_shapes]
    for chosen in itertools.product(*inputs):
        for results in itertools.product(*outputs):
            yield SbpSignature(chosen, results)


class Trial:
    """Data for one placement of the inputs, and the results of the whole, which all placements of the outputs share."""

    def __init__(self, case: Case, problem: Any, inputs: Sequence[Sbp], rng: Any, kind: int) -> None:
        self.case, self.problem = case, problem
        self.arrays = arrays_on(DeviceType.kCPU)
        drawn = [
            _draw(place, draw, rng, shape, dtype, problem.ranks)
            for place, draw, shape, dtype in zip(inputs, case.draws[kind], case.shapes, case.dtypes, strict=True)
        ]
        self.parts = [part for _, part in drawn]
        self.whole = case.operator.compute(self.arrays, [one for one, _ in drawn], problem.attributes)
        self._local: dict[str, Any] = {}

    def results(self, signature: SbpSignature) -> list[list[np.ndarray]] | None:
        """Return the results of each rank, None if the operator refuses the pieces."""
        operator, problem = self.case.operator, self.problem
        found = []
        for rank in range(problem.ranks):
            try:
                attributes = operator.local_attributes(problem, signature, rank)
                key = f"{rank} {attributes}"
                if key not in self._local:
                    mine = [part[rank] for part in self.parts]
                    self._local[key] = operator.compute(self.arrays, mine, attributes)
                found.append(self._local[key])
            except (ValueError, TypeError, IndexError):
                return None
        return found

    def holds(self, signature: SbpSignature, *, finite: bool) -> bool:
        """Return whether the ranks have the pieces of the whole results; finite: compare only elements that are finite
        in both.
        """
        found = self.results(signature)
        if found is None:
            return False
        for position, (whole, place) in enumerate(zip(self.whole, signature.outputs, strict=True)):
            try:
                result = assemble([of_rank[position] for of_rank in found], place, whole.shape)
            except ValueError:
                return False
            if not self.close(result, whole, finite=finite):
                return False
        return True

    def close(self, result: Any, whole: Any, *, finite: bool) -> bool:
        """Return whether a result equals the whole; `finite`: compare only elements that are finite in both."""
        if whole.dtype.kind not in "fc":
            return np.array_equal(result, whole)
        if finite:
            both = np.isfinite(result) & np.isfinite(whole)
            result, whole = result[both], whole[both]
        tolerance = self.case.tolerance
        return np.allclose(result, whole, rtol=tolerance, atol=tolerance, equal_nan=True)


def _draw(place: Sbp, draw: Draw, rng: Any, shape: Any, dtype: Any, ranks: int) -> tuple[Any, list[Any]]:
    """Return a whole tensor, and each rank's piece of it."""
    if type(place) not in _COMBINE:
        whole = np.asarray(draw(rng, shape)).astype(dtype)
        return whole, pieces(whole, place, ranks)
    parts = [np.asarray(draw(rng, shape)).astype(dtype) for _ in range(ranks)]
    return np.asarray(reduce(_COMBINE[type(place)], parts)).astype(dtype), parts


_ATTEMPTS = 6  # with new data; then listed signatures, and those left out for a reason, are settled


def survey(case: Case, ranks: int, tries: int, rng: np.random.Generator) -> dict[SbpSignature, bool]:
    """Return for every signature whether it is correct for all tried data.

    Listed signatures are tried some times, and only finite results are compared. Other signatures are compared
    everywhere, until they fail, at most `tries` times for each kind of data, or only some times if there is a reason to
    leave them out.
    """
    problem = case.problem(ranks)
    listed = set(case.operator.signatures(problem))
    settled = {one for one in combinations(problem) if case.operator.why_left_out(problem, one)} | listed
    by_inputs: dict[Any, list[SbpSignature]] = {}
    for signature in combinations(problem):
        by_inputs.setdefault(signature.inputs, []).append(signature)
    found: dict[SbpSignature, bool] = {}
    for inputs, signatures in by_inputs.items():
        left = set(signatures)
        for attempt in range(tries * len(case.draws)):
            if attempt >= _ATTEMPTS and left <= settled:
                break
            with np.errstate(all="ignore"):
                trial = Trial(case, problem, inputs, rng, attempt % len(case.draws))
                left -= {one for one in left if not trial.holds(one, finite=one in listed)}
        found |= {signature: signature in left for signature in signatures}
    return found


def check(case: Case, ranks: int, rng: np.random.Generator, tries: int = 2) -> tuple[int, int]:
    """Assert that listed signatures are correct, and that other signatures fail or are left out for a reason.

    Returns how many signatures were tried, and how many are listed.
    """
    operator, problem = case.operator, case.problem(ranks)
    listed = operator.signatures(problem)
    found = survey(case, ranks, tries, rng)
    assert set(listed) <= found.keys()
    assert not [str(one) for one in listed if not found[one]], "listed, and wrong"
    holding = [one for one in found if found[one] and one not in listed]
    missing = [str(one) for one in holding if operator.why_left_out(problem, one) is None]
    assert not missing, f"right, and not listed: {missing}"
    return len(found), len(listed)
