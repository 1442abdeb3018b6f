"""PyTorch's own samples of its operators beside eager. What is in ep of each is recorded, and may not become less."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")
pytest.importorskip("expecttest", reason="expecttest is not installed, which PyTorch's samples need; `bench` has it")

from tests.torch.samples import MARKS, compare, samples  # noqa: E402
from tools.torch_samples import read, unpacked  # noqa: E402

RECORD = read()
PARTS = 40


def turns(names):
    """Return the names with a type each that the operator takes, in its turn: a sample of it is computed.
    `python -m tools.torch_samples` computes all samples of all types."""
    for k, name in enumerate(names):
        dtypes = [*RECORD["operators"][name]]
        yield name, dtypes[k % len(dtypes) :][:1]


CASES = [*turns(sorted(RECORD["operators"]))]


@pytest.mark.parametrize("part", range(PARTS))
def test_samples(part):
    is_recorded = torch.__version__.startswith(f"{RECORD['torch']}.")  # other versions have other samples
    wrong = []
    for name, dtypes in CASES[part::PARTS]:
        for dtype in dtypes:
            marks = unpacked(RECORD["operators"][name][dtype])
            known = [k for k, mark in enumerate(marks) if mark in MARKS]
            numbers = known[:1]
            with warnings.catch_warnings(action="ignore"):
                found = samples(name, dtype, max(numbers, default=-1) + 1)
            for k in numbers if is_recorded else range(min(len(found), 1)):
                try:
                    with warnings.catch_warnings(action="ignore"):
                        mark, _ = compare(name, found[k])
                except AssertionError as error:
                    wrong.append(f"{name} of {dtype}, sample {k}: {error}")
                else:
                    if is_recorded and MARKS.index(mark) > MARKS.index(marks[k]):
                        wrong.append(f"{name} of {dtype}, sample {k}: {mark!r} is in ep, and {marks[k]!r} is recorded")
    assert not wrong, "\n".join(wrong)
