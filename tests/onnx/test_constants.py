"""Constants of models are in memory and on disk once, however many nodes, plans and models have them."""

import gc
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from onnx import TensorProto

import ep.onnx
import ep.ops
from ep.common.arrays.constants import Constants
from ep.common.arrays.on_device import arrays_on
from ep.common.kernel_cache.headed import with_header
from ep.cpu.device_manager import CACHE
from ep.include.device_type import DeviceType
from tests.onnx.kept import loaded, written
from tests.onnx.test_models import model_of

ROWS, COLUMNS = 1009, 1013
LENGTHS = (2, 3, 5)


@contextmanager
def measured():
    """Measure what is allocated in the block, and still in memory at its end: a list of the bytes, and of the peak."""
    gc.collect()
    found = []
    tracemalloc.start()
    try:
        yield found
        gc.collect()
        found += tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def by_identity(weight, times=8):
    """Return a model that multiplies by a weight again and again, each time through other nodes that keep it."""
    nodes, sums = [], "x0"
    for k in range(times):
        nodes += [
            ("Identity", ["w" if k % 2 else f"i{k - 1}"] if k else ["w"], [f"i{k}"]),
            ("Reshape", [f"i{k}", "flat"], [f"f{k}"]),
            ("Cast", [f"f{k}"], [f"c{k}"], {"to": TensorProto.FLOAT}),
            ("Reshape", [f"c{k}", "whole"], [f"r{k}"]),
            ("MatMul", ["x", f"r{k}"], [f"p{k}"]),
            ("MatMul", ["x", f"i{k}"], [f"q{k}"]),
            ("Add", [f"p{k}", f"q{k}"], [f"s{k}"]),
        ]
        sums = f"s{k}"
        if k:
            nodes.append(("Add", [f"t{k - 1}" if k > 1 else "s0", sums], [f"t{k}"]))
    constants = [("w", weight), ("flat", np.array([-1])), ("whole", np.array(weight.shape))]
    outputs = [(f"t{times - 1}", ("n", weight.shape[1]))]
    return model_of(nodes, [("x", ("n", weight.shape[0]))], outputs, constants)


def transposed(weight):
    """Return a model that computes two constants of a weight: its transpose, once more negative."""
    nodes = [
        ("Transpose", ["w"], ["t"]),
        ("Neg", ["t"], ["m"]),
        ("Identity", ["w"], ["i"]),
        ("Transpose", ["i"], ["u"]),
        ("MatMul", ["x", "t"], ["p"]),
        ("MatMul", ["x", "m"], ["q"]),
        ("MatMul", ["x", "u"], ["r"]),
        ("Sub", ["p", "q"], ["d"]),
        ("Sub", ["d", "r"], ["y"]),
    ]
    return model_of(nodes, [("x", ("n", weight.shape[1]))], [("y", ("n", weight.shape[0]))], [("w", weight)])


def inputs(rng, width):
    return [rng.standard_normal((rows, width), np.float32) for rows in LENGTHS]


def on_disk(model):
    """Return the files of a model, and the sum of their bytes."""
    files = [*CACHE.folder().glob(f"*{model._source.digest}-*.plan")]
    return {one.name for one in files}, sum(one.stat().st_size for one in files)


@pytest.mark.parametrize("make", [by_identity, transposed])
def test_in_memory_and_on_disk(tmp_path, rng, make):
    weight = rng.standard_normal((ROWS, COLUMNS), np.float32)
    model, factor, num_computed = make(weight), 16 if make is by_identity else 1, 0 if make is by_identity else 2
    path, given = written(tmp_path, model), inputs(rng, ROWS if make is by_identity else COLUMNS)
    expected = [factor * x.astype(np.float64) @ (weight if make is by_identity else weight.T) for x in given]
    made = loaded(path)[0]
    for x in given:
        made(x=x)
        made(x=x)  # the second run is recorded
    files, size = on_disk(made)
    assert len([one for one in files if one.startswith("launches.")]) == len(LENGTHS)
    assert len([one for one in files if one.startswith("constant.")]) == num_computed
    assert size < (num_computed + 0.1) * weight.nbytes
    del made
    for are_restored in (False, True):
        with measured() as memory:
            again, is_read = loaded(path)
            found = [again(x=x)[0] for x in given] if are_restored else []
            if not are_restored:  # plans of its own
                again._stored._made_by = ""
                found = [again(x=x)[0] for x in given]
        assert is_read() is not are_restored
        for y, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(y, wanted, rtol=1e-3, atol=1e-2 * factor)
        held, peak = memory
        num_held = max(num_computed, 1) + (not are_restored and num_computed > 0)
        assert held < (num_held + 0.5) * weight.nbytes
        assert peak < (num_held + 4.5) * weight.nbytes
        del again


def test_constants_are_removed_with_the_plans_that_need_them(tmp_path, rng):
    weight = rng.standard_normal((67, 71), np.float32)
    nodes = [("Transpose", ["w"], ["t"]), ("MatMul", ["x", "t"], ["p"]), ("Shape", ["x"], ["n"], {"end": 1})]
    nodes += [("Slice", ["v", "zero", "n"], ["s"]), ("Neg", ["s"], ["m"]), ("Add", ["p", "m"], ["y"])]
    table = rng.standard_normal((40, 67), np.float32)
    constants = [("w", weight), ("v", table), ("zero", np.array([0]))]
    path = written(tmp_path, model_of(nodes, [("x", ("n", 71))], [("y", ("n", 67))], constants))
    made = loaded(path)[0]
    for rows in range(16, 40):  # each has its rows of the table, of more than 4,096 bytes
        x = rng.standard_normal((rows, 71), np.float32)
        for _ in range(2):
            np.testing.assert_allclose(made(x=x)[0], x @ weight.T - table[:rows], rtol=1e-4, atol=1e-4)
    older = f"launches.{made._source.digest}-{0:016x}.plan"  # of earlier sources of ep
    CACHE.write(older, with_header({"constants": [[True, 7, [3], "kFloat"]]}), 17)
    for rows in (15, 14, 13):
        for _ in range(2):
            made(x=np.ones((rows, 71), np.float32))
    files, _ = on_disk(made)
    assert len([one for one in files if one.startswith("launches.")]) == 16
    assert older in files
    assert len([one for one in files if one.startswith("constant.")]) == 12 + 1  # of 15 plans, and what they share
    again, is_read = loaded(path)
    x = rng.standard_normal((39, 71), np.float32)
    np.testing.assert_allclose(again(x=x)[0], x @ weight.T - table[:39], rtol=1e-4, atol=1e-4)
    assert not is_read()


@pytest.mark.parametrize("how", ["removed", "damaged", "cut", "of other contents"])
def test_a_constant_that_is_gone_is_written_again(tmp_path, rng, how):
    weight = rng.standard_normal((67, 71), np.float32)
    path = written(tmp_path, transposed(weight))
    x = rng.standard_normal((3, 71), np.float32)
    made = loaded(path)[0]
    (expected,) = made(x=x)
    first, second = sorted(CACHE.folder().glob(f"constant.{made._source.digest}-*.plan"))
    contents = first.read_bytes()
    if how == "removed":
        first.unlink()
    else:
        first.write_bytes(
            {"damaged": contents[:-1] + b"?", "cut": contents[:-4], "of other contents": second.read_bytes()}[how]
        )
    del made
    gc.collect()
    for is_whole in (False, True):
        again, is_read = loaded(path)
        np.testing.assert_array_equal(again(x=x)[0], expected)
        assert is_read() is not is_whole
        del again
        gc.collect()
    assert first.read_bytes() == contents


def test_several_models_and_shapes_share_memory(rng):
    constants, base = Constants(), arrays_on(DeviceType.kCPU)
    values = rng.standard_normal((35, 64), np.float32)
    first = constants.placed(base, values)
    assert np.shares_memory(first, constants.placed(base, values.copy()))
    reshaped = constants.placed(base, values.reshape(64, 35))
    assert reshaped.shape == (64, 35)
    assert np.shares_memory(first, reshaped)
    np.testing.assert_array_equal(reshaped, values.reshape(64, 35))
    other = constants.placed(base, values.view(np.int32))
    assert other.dtype == np.int32
    assert not np.shares_memory(first, constants.placed(base, values + 1))
    for shape in ((0, 3), (), (1,)):
        np.testing.assert_array_equal(constants.placed(base, np.ones(shape)), np.ones(shape))
    del first, reshaped, other
    gc.collect()
    assert not len(constants._known)
    assert not constants._digests


def test_arrays_without_weak_references(rng):
    class Bare:
        __slots__ = ("values",)

    class Elsewhere:
        device_type, place = DeviceType.kCPU, "elsewhere"

        def copy_from_host(self, array):
            made = Bare()
            made.values = array.copy()
            return made

        def as_buffer(self, value, argument):
            return value

    constants, values = Constants(), rng.standard_normal((3, 4))
    for _ in range(2):
        np.testing.assert_array_equal(constants.placed(Elsewhere(), values).values, values)


def test_on_a_device(device, rng):
    """Nodes that keep a weight need no more memory on the device, in plans for several sizes."""
    weight = rng.standard_normal((5, 7), np.float32)
    model = ep.onnx.load(by_identity(weight, times=3), device.type)
    for rows in (2, 3):
        x = rng.standard_normal((rows, 5), np.float32)
        (y,) = model(x=ep.ops.copy_to_device(x, device.type))
        np.testing.assert_allclose(ep.ops.copy_to_host(y), 6 * (x @ weight), rtol=1e-4, atol=1e-4)
    constants = [one for name, one in model._stored.planner._known.on_device() if one.size == weight.size]
    assert len(constants) > 3
    assert len({getattr(one, "address", None) or one.ctypes.data for one in constants}) == 1
