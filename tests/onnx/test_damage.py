"""Damaged files: each is refused with an error that says so, or is still a model."""

import contextlib

import numpy as np
import onnx
import pytest

import ep.onnx
from tests.onnx import damage

PARTS, FILES = 400, 25
"""The number of parts, of which --ep-every-case runs all, and of the files in each: together 10,000 files."""


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_files_are_refused(rng, part):
    for number, contents in enumerate(damage.damaged(rng, FILES)):
        with contextlib.suppress(ep.onnx.ModelError, ep.onnx.UnsupportedError):
            try:
                ep.onnx.load(contents)
            except Exception as error:
                error.add_note(f"file {number} of part {part}")
                raise


def test_models_are_whole(rng):
    for contents in damage.models(rng):
        onnx.checker.check_model(contents, full_check=True)
        assert ep.onnx.load(contents).nodes


@pytest.mark.parametrize("name", [b"steps", b"twice", b"hidden_size", b"inner"])
@pytest.mark.parametrize("damaged", [b"\xff", b"\xe2"])
def test_names_that_are_not_text_are_refused(rng, name, damaged):
    for contents in (one for one in damage.models(rng) if name in one):
        for place in (contents.replace(name, damaged + name[1:]), contents.replace(name, name[:-1] + damaged)):
            with pytest.raises(ep.onnx.ModelError):
                ep.onnx.load(place)


def test_damaged_models_do_not_crash():
    """If a damaged file is still a model, running it returns results or raises a Python exception."""
    rng = np.random.default_rng(3)  # always the same files: other ones might request more memory than there is
    inputs = {"x": rng.standard_normal((4, 2, 5), np.float32), "on": np.array(True)}
    contents, ran = damage.branching(rng).SerializeToString(), 0
    for _ in range(60):
        with contextlib.suppress(ValueError, TypeError, IndexError, NotImplementedError, OverflowError):
            ep.onnx.load(damage.with_other_bytes(rng, contents)).run(None, inputs)
            ran += 1
    assert ran


def test_damaged_trees_do_not_crash(rng):
    """If a damaged file still is a model, its trees are: walks end in leaves, and read features that there are."""
    contents, ran = [one.SerializeToString() for one in damage.trees(rng)], 0
    x = rng.standard_normal((11, 3)).astype(np.float32)
    for one in damage.damaged(rng, 200, contents):
        with contextlib.suppress(ValueError, TypeError, IndexError, NotImplementedError, OverflowError, MemoryError):
            ep.onnx.load(one).run(None, {"x": x})
            ran += 1
    assert ran


def test_sizes_that_contradict_each_other_before_a_function(rng):
    """ONNX would infer negative sizes from them, and end the process, while it replaces the function."""
    model = damage.windows(rng)
    next(one for one in model.graph.node[2].attribute if one.name == "kernel_shape").ints[:] = [13, 2]
    loaded = ep.onnx.load(model)
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the note says which
        loaded(x=np.zeros((1, 3, 8, 6), np.float32), on=np.array(True))
    assert caught.value.__notes__[0] == "in node 'n2' (MaxPool)"


def test_a_model_is_not_changed(rng):
    """Calls of functions are replaced in a copy."""
    for contents in damage.models(rng):
        model = onnx.load_model_from_string(contents)
        ep.onnx.load(model)
        assert model.SerializeToString(deterministic=True) == onnx.load_model_from_string(contents).SerializeToString(
            deterministic=True
        )
