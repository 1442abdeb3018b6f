"""PyTorch's own samples of its operators beside eager. What is in ep of each is recorded, and may not become less.

There are too many samples for a run. A run has half of the operators, one type of each, and SAMPLES recorded samples of
it that follow one another; the first one follows the last. A digest of the run's turn (`--ep-turn`, or else the commit)
and of the operator's name determines the half, the type and where they begin, so that many commits have all samples.
`python -m tools.torch_samples` computes all.
"""

import hashlib
import warnings
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")
pytest.importorskip("expecttest", reason="expecttest is not installed, which PyTorch's samples need; `bench` has it")

from torch.testing._internal.opinfo.core import SampleInput  # noqa: E402

from tests.torch.samples import MARKS, NO_GRAPH, compare, compare_together, samples  # noqa: E402
from tools.torch_samples import read, unpacked  # noqa: E402

RECORD = read()
PARTS = 100
SAMPLES = 10
"""Those of an operator in a run: 10 take about twice as long as one, which compiles kernels for the others."""


def chosen(name, turn):
    """Return the type of an operator in a turn, and the numbers of its samples; none in half of the turns."""
    number, is_other = divmod(int.from_bytes(hashlib.sha256(f"{turn} {name}".encode()).digest()[:8]), 2)
    dtypes = [*RECORD["operators"][name].items()]
    dtype, text = dtypes[number % len(dtypes)]
    known = [k for k, mark in enumerate(unpacked(text)) if mark in MARKS]
    first = number // len(dtypes) % max(len(known), 1)
    return dtype, [] if is_other else (known[first:] + known[:first])[:SAMPLES]


@pytest.mark.parametrize("part", range(PARTS))
def test_samples(part, pytestconfig):
    turn, wrong = pytestconfig.getoption("ep_turn"), []
    is_recorded = torch.__version__.startswith(f"{RECORD['torch']}.")  # other versions have other samples
    for name in sorted(RECORD["operators"])[part::PARTS]:
        dtype, numbers = chosen(name, turn)
        marks, graphs = unpacked(RECORD["operators"][name][dtype]), {}
        with warnings.catch_warnings(action="ignore"):
            found = samples(name, dtype, max(numbers, default=-1) + 1 if is_recorded else 1)
        for k in numbers if is_recorded else range(len(found)):
            try:
                with warnings.catch_warnings(action="ignore"):
                    mark, _ = compare(name, found[k], graphs)
            except AssertionError as error:
                wrong.append(f"{name} of {dtype}, sample {k}: {error}")
            else:
                if is_recorded and MARKS.index(mark) > MARKS.index(marks[k]):
                    wrong.append(f"{name} of {dtype}, sample {k}: {mark!r} is in ep, and {marks[k]!r} is recorded")
    assert not wrong, "\n".join([f"with --ep-turn {turn}:", *wrong])


def test_turns_have_all_samples():
    marks = {dtype: unpacked(text) for dtype, text in RECORD["operators"]["addmm"].items()}
    wanted = {(dtype, k) for dtype, text in marks.items() for k, mark in enumerate(text) if mark in MARKS}
    turns = [chosen("addmm", turn) for turn in range(1000)]
    assert {(dtype, k) for dtype, numbers in turns for k in numbers} == wanted
    assert turns[0] == chosen("addmm", 0)


@pytest.mark.parametrize("name", ["sort", "max.reduction_with_dim", "linalg.det"])
def test_samples_in_one_graph_are_as_alone(name):
    some = samples(name, "float32", 4)
    assert compare_together(name, some) == [(compare(name, one, {})[0], "") for one in some]


@pytest.mark.parametrize("name", ["nonzero", "nn.functional.batch_norm", "nn.functional.max_unpool2d"])
def test_samples_without_a_graph_are_compared_alone(name):
    found = compare_together(name, samples(name, "float32", 12))
    assert {why for _, why in found} == {NO_GRAPH}


@pytest.mark.parametrize("wrong", [lambda y: 2 * y, lambda y: 2 * y - y.detach()], ids=["results", "gradients"])
def test_differences_in_one_graph_are_found(wrong, monkeypatch):
    def made(module, *_):
        return lambda *tensors: [wrong(y) if k == 1 else y for k, y in enumerate(module(*tensors))]

    monkeypatch.setattr("tests.torch.samples.compiled", made)
    found = compare_together("add", samples("add", "float32", 3))
    assert ["not close" in why for _, why in found] == [False, True, False]


@pytest.mark.parametrize(("factor", "is_right"), [(1, True), (2, False)])
def test_gradients_by_equal_elements_may_be_in_any_order(factor, is_right, monkeypatch):
    def made(x):
        values, indices = x.flip(0).topk(2)  # of equal elements the last ones, and the gradient times a factor
        return [factor * values - (factor - 1) * values.detach(), len(x) - 1 - indices]

    monkeypatch.setattr("tests.torch.samples.compiled", lambda *_: made)
    sample = SampleInput(torch.tensor([1.0, 5, 2, 5, 5], requires_grad=True), args=(2,))
    with nullcontext() if is_right else pytest.raises(AssertionError, match="gradient 0"):
        compare("topk", sample, {})
