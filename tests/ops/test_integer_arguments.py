"""An integer among arguments may be NumPy's, several may be any sequence of them; bool and floats are errors."""

import operator

import numpy as np
import pytest

import ep
import ep.ops
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
IMAGE = np.arange(2 * 2 * 5 * 7, dtype=np.float32).reshape(2, 2, 5, 7)
KERNEL = np.ones((2, 2, 2, 3), np.float32)
PLACES = np.array([1, 0])

REDUCTIONS = {
    name: (lambda m, x, k, name=name: getattr(ep.ops, name)(x, k), 1)
    for name in ("sum", "prod", "mean", "min", "max", "any", "all", "var", "std")
}
ONE = REDUCTIONS | {
    "softmax": (lambda m, x, k: m.softmax(x, k), 1),
    "log_softmax": (lambda m, x, k: m.log_softmax(x, axis=k), 1),
    "squeeze": (lambda m, x, k: m.squeeze(m.reshape(x, (2, 1, 12)), k), 1),
    "expand_dims": (lambda m, x, k: m.expand_dims(x, k), 1),
    "moveaxis from": (lambda m, x, k: m.moveaxis(x, k, 0), 1),
    "moveaxis to": (lambda m, x, k: m.moveaxis(x, 0, k), 1),
    "flip": (lambda m, x, k: m.flip(x, k), 1),
    "roll by": (lambda m, x, k: m.roll(x, k), 5),
    "roll along": (lambda m, x, k: m.roll(x, 1, k), 2),
    "vecdot": (lambda m, x, k: m.vecdot(x, x, axis=k), 1),
    "tensordot": (lambda m, x, k: m.tensordot(x, m.permute(x, (1, 2, 0)), axes=k), 2),
    "reshape": (lambda m, x, k: m.reshape(x, (k, 4)), 6),
    "reshape to one": (lambda m, x, k: m.reshape(x, k), 24),
    "broadcast_to": (lambda m, x, k: m.broadcast_to(x, (k, 2, 3, 4)), 2),
    "expand": (lambda m, x, k: m.expand(x, k, 2, 3, 4), 2),
    "repeat": (lambda m, x, k: m.repeat(x, 1, 1, k), 2),
    "tile": (lambda m, x, k: m.tile(x, k), 2),
    "permute": (lambda m, x, k: m.permute(x, (0, k, 1)), 2),
    "transpose": (lambda m, x, k: m.transpose(x, (0, k, 1)), 2),
    "concat": (lambda m, x, k: m.concat([x, x], k), 1),
    "stack": (lambda m, x, k: m.stack([x, x], axis=k), 1),
    "split": (lambda m, x, k: m.split(x, k, 2)[0], 2),
    "split along": (lambda m, x, k: m.split(x, [1], axis=k)[1], 1),
    "gather": (lambda m, x, k: m.gather(x, PLACES, axis=k), 1),
    "one_hot": (lambda m, x, k: m.one_hot(PLACES, k), 3),
    "segment_sum": (lambda m, x, k: m.segment_sum(x, PLACES, num_segments=k), 3),
    "pad": (lambda m, x, k: m.pad(x, k), 1),
    "pad by pairs": (lambda m, x, k: m.pad(x, ((k, 0), (0, 0), (0, k))), 1),
    "slice": (lambda m, x, k: m.slice(x, (0, k)), 1),
    "slice by steps": (lambda m, x, k: m.slice(x, None, slice(None, None, k)), 2),
    "conv": (lambda m, x, k: m.conv(IMAGE, KERNEL, strides=k), 2),
    "conv of pairs": (lambda m, x, k: m.conv(IMAGE, KERNEL, dilations=(1, k)), 2),
    "max_pool": (lambda m, x, k: m.max_pool(IMAGE, k), 2),
    "average_pool": (lambda m, x, k: m.average_pool(IMAGE, (2, 2), pads=k), 1),
    "unfold": (lambda m, x, k: m.unfold(IMAGE, 2, k), 2),
    "full": (lambda m, x, k: m.full((k, 2), 1.5), 3),
    "zeros": (lambda m, x, k: m.zeros(k), 3),
    "ones": (lambda m, x, k: m.ones((2, k)), 3),
    "linspace": (lambda m, x, k: m.linspace(0, 1, k), 3),
    "eye": (lambda m, x, k: m.eye(3, k, k=1), 2),
    "eye of a diagonal": (lambda m, x, k: m.eye(3, k=k), 1),
}
"""For each function: a call with one integer, and the integer."""

SEVERAL = {name: (lambda m, x, k, name=name: getattr(ep.ops, name)(x, k), (0, 2)) for name in REDUCTIONS} | {
    "squeeze": (lambda m, x, k: m.squeeze(m.reshape(x, (1, 24, 1)), k), (0, 2)),
    "expand_dims": (lambda m, x, k: m.expand_dims(x, k), (0, 2)),
    "moveaxis": (lambda m, x, k: m.moveaxis(x, k, (1, 0)), (0, 2)),
    "flip": (lambda m, x, k: m.flip(x, k), (0, 2)),
    "roll by": (lambda m, x, k: m.roll(x, k, (0, 1)), (1, 2)),
    "roll along": (lambda m, x, k: m.roll(x, 1, k), (0, 2)),
    "tensordot": (lambda m, x, k: m.tensordot(x, x, axes=(k, k)), (0, 2)),
    "reshape": (lambda m, x, k: m.reshape(x, k), (4, 6)),
    "broadcast_to": (lambda m, x, k: m.broadcast_to(x, k), (2, 2, 3, 4)),
    "expand": (lambda m, x, k: m.expand(x, k), (2, 2, 3, 4)),
    "repeat": (lambda m, x, k: m.repeat(x, k), (1, 2, 3)),
    "tile": (lambda m, x, k: m.tile(x, k), (2, 3)),
    "permute": (lambda m, x, k: m.permute(x, k), (2, 0, 1)),
    "transpose": (lambda m, x, k: m.transpose(x, k), (2, 0, 1)),
    "split": (lambda m, x, k: m.split(x, k, 2)[1], (1, 3)),
    "pad": (lambda m, x, k: m.pad(x, k), (1, 2)),
    "slice": (lambda m, x, k: m.slice(x, tuple(k)), (0, 1)),
    "conv": (lambda m, x, k: m.conv(IMAGE, KERNEL, strides=k), (2, 1)),
    "max_pool": (lambda m, x, k: m.max_pool(IMAGE, k), (2, 3)),
    "full": (lambda m, x, k: m.full(k, 1.5), (3, 2)),
    "zeros": (lambda m, x, k: m.zeros(k), (3, 2)),
    "ones": (lambda m, x, k: m.ones(k), (3, 2)),
}
"""For each function: a call with several integers, and these."""

ON_HOST = ("average_pool", "conv", "eye", "full", "gather", "linspace", "max_pool", "one_hot", "ones", "segment_sum")
ON_HOST += "unfold", "zeros"
"""The functions whose operands here are the host's, or that have none."""

METHODS = {
    "sum": lambda x, k: x.sum(k),
    "mean": lambda x, k: x.mean(axis=k),
    "max": lambda x, k: x.max(k),
    "var": lambda x, k: x.var(k),
    "squeeze": lambda x, k: x[:, :1].squeeze(k),
    "an index": lambda x, k: x[:, k],
    "a slice": lambda x, k: x[:, k:],
    "reshape": lambda x, k: x.reshape(k, 24),
}
"""Methods of arrays, with the integer 1."""


def results(name, function, x, device):
    """Return the results of a function alone and fused, on the host."""
    if name.partition(" ")[0] in ON_HOST:
        return [host(function(x))]
    x = placed(device, x)
    return [host(function(x)), host(ep.fuse(function)(x))]


@pytest.mark.parametrize("name", ONE)
def test_one_integer(name, device):
    call, k = ONE[name]
    wanted = results(name, lambda x: call(ep.ops, x, k), X, device)[0]
    for one in (np.int64(k), np.uint8(k), np.array(k, np.int16)):
        for got in results(name, lambda x, one=one: call(ep.ops, x, one), X, device):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("name", ONE)
def test_what_is_no_integer(name, device):
    """Also after the same call with an integer that is equal."""
    call, k = ONE[name]
    for wrong in (True, np.True_, float(k), np.float32(k), np.array(float(k)), np.array([0.5, 1]), str(k)):
        with pytest.raises(TypeError, match=r"must be an integer|is .*; (max|min) takes one array"):
            results(name, lambda x, wrong=wrong: call(ep.ops, x, wrong), X, device)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_integers(name, device):
    call, several = SEVERAL[name]
    wanted = results(name, lambda x: call(ep.ops, x, several), X, device)[0]
    for given in ([*several], tuple(map(np.int64, several)), [*map(np.uint8, several)], np.array(several, np.int32)):
        for got in results(name, lambda x, given=given: call(ep.ops, x, given), X, device):
            assert np.array_equal(got, wanted)
    for wrong in (
        [*map(float, several)],
        np.array(several, np.float32),
        (*several[:-1], True),
        [np.True_, *several[1:]],
    ):
        with pytest.raises(TypeError, match=r"must be an integer|is .*; (max|min) takes one array"):
            results(name, lambda x, wrong=wrong: call(ep.ops, x, wrong), X, device)


@pytest.mark.parametrize("name", METHODS)
def test_methods(name, device):
    method = METHODS[name]
    x = placed(device, X)
    forms = [ep.fuse(method)] + ([] if isinstance(x, np.ndarray) else [method])
    for form in forms:
        wanted = host(form(x, 1))
        assert np.array_equal(host(form(x, np.int64(1))), wanted)
        for wrong in (True, 1.0, np.float32(1)):
            with pytest.raises(TypeError, match=r"must be an integer|takes one array"):
                form(x, wrong)


def test_truths(device):
    """True and False may be NumPy's, and arguments of fused functions."""
    x = placed(device, X)
    for given in (True, np.True_):
        assert host(ep.ops.sum(x, 1, keepdims=given)).shape == (2, 1, 4)
        assert host(ep.fuse(lambda x, keeps: ep.ops.mean(x, 1, keepdims=keeps))(x, given)).shape == (2, 1, 4)
    for wrong in (1, 0.0, None, "yes", operator):
        with pytest.raises(TypeError, match="keepdims must be True or False"):
            ep.ops.sum(x, 1, keepdims=wrong)
