"""Operators, tested with ONNX's own cases."""

import collections
import re
from pathlib import Path

import onnx
import pytest

from ep.onnx import Backend, UnsupportedError, load
from tests.onnx import nodes

DOCUMENT = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
TOLD = re.compile(r"Of the (\S+) cases that the package onnx (\S+) has for\s+its operators, (\S+) are computed")


@pytest.mark.parametrize("chunk", range(nodes.CHUNKS))
def test_cases(chunk):
    """Each case has ONNX's results, or is refused by name before anything is computed."""
    computed = 0
    for case in nodes.chunks()[chunk]:
        if Backend.is_compatible(case.model):
            nodes.check(case, Backend.prepare(case.model).run)
            computed += 1
            continue
        with pytest.raises(UnsupportedError, match=r"."):
            load(case.model)
    assert computed


@pytest.mark.parametrize("chunk", range(0, nodes.CHUNKS, 8))
def test_cases_on_devices(device, chunk):
    """Floating-point values are computed on the device, sizes on the host; `test_cases` has all cases, on the CPU."""
    backend_device = {"cpu": "CPU", "cuda": "CUDA"}[device.type.tag]
    for case in nodes.chunks()[chunk][::4]:
        if Backend.is_compatible(case.model):
            nodes.check(case, Backend.prepare(case.model, backend_device).run)


def test_how_many_cases_are_computed():
    """All other cases have a reason: an unsupported operator, or a type without a DataType."""
    counts, reasons = collections.Counter(), collections.Counter()
    for case in (one for chunk in nodes.chunks() for one in chunk):
        try:
            load(case.model)
            counts["computed"] += 1
        except UnsupportedError as error:
            counts["refused"] += 1
            reasons.update({one.split(": ", 1)[-1].split(" of opset")[0] for one in error.reasons})
    assert counts["computed"] > 0.7 * counts.total()
    cases, version, computed = TOLD.search(DOCUMENT).groups()
    if onnx.__version__.startswith(f"{version}."):
        assert (cases, computed) == (f"{counts.total():,}", f"{counts['computed']:,}"), "docs/onnx.md says otherwise"
    words = ["no operator serves", "is not a DataType", "is not a tensor", "must be a constant", "must have one of"]
    words += ["no operator gives", "is sparse", "must be one of", "strings or maps", "must be strings"]
    strange = [one for one in reasons if not any(word in one for word in words)]
    assert not strange
