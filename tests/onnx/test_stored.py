"""Plans on disk: a process repeats the launches of an earlier one, without the graph of the model."""

import gc
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import ep.onnx
from ep.common import bounded_cache
from ep.common.arrays.constants import CONSTANTS
from ep.common.native import machine_code
from ep.common.native.record import Words
from ep.common.plans import stored_plan
from ep.cpu.device_manager import CACHE
from ep.cpu.engine.repeat import image
from ep.include.process import section
from ep.onnx.errors import ModelError
from ep.ops.kernels import Kernel
from tests.onnx.kept import loaded, run_once, written
from tests.onnx.test_models import model_of
from tests.onnx.test_repetition import several
from tests.registered import registered
from tests.subprocesses import SOURCES, run
from tests.threads import run_together


def test_a_process_with_one_run_keeps_the_plan_for_the_next_one(tmp_path, rng):
    model, given = several(rng)
    path = written(tmp_path, model)
    expected = [ep.onnx.load(model)(**one) for one in given]
    first, _ = loaded(path)
    found = [first(**given[0])]
    again, is_read = loaded(path)
    assert (again.inputs, again.outputs) == (first.inputs, first.outputs)
    found += [again(**one) for one in given[1:]]
    assert not is_read()
    for some, wanted in zip(found, expected, strict=True):
        for one, other in zip(some, wanted, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(one, other)
    assert again.nodes == first.nodes
    assert again.explain() == first.explain()


def test_a_plan_is_not_kept_if_a_source_was_edited_before_it_was_imported(tmp_path, rng, monkeypatch):
    """The sources of the process are unknown then, which was not so when the model was loaded."""
    model, (given, *_) = several(rng)
    path = written(tmp_path, model)
    first, _ = loaded(path)
    with monkeypatch.context() as edited:
        edited.setattr(type(CACHE), "digest", lambda self: None)
        first(**given)
    again, is_read = loaded(path)
    again(**given)
    assert is_read()


def test_outputs_by_name_and_other_shapes_have_plans_of_their_own(tmp_path, gathered):
    model, given, table, w = gathered
    path = written(tmp_path, model)
    more = {"i": np.arange(11)}
    first, _ = loaded(path)
    first.run(["y"], given)
    for _ in range(2):
        first.run(["g"], more)  # the second run keeps the plan
        first.run(["y", "g"], given)
    again, is_read = loaded(path)
    (g,) = again.run(["g"], more)
    y, of_seven = again.run(["y", "g"], given)
    np.testing.assert_array_equal(g, table[more["i"]])
    np.testing.assert_array_equal(of_seven, table[given["i"]])
    np.testing.assert_allclose(y, np.maximum(table[given["i"]] @ w, 0), rtol=1e-5, atol=1e-6)
    assert not is_read()
    again.run(["g"], {"i": np.arange(2)})
    assert is_read()


def test_a_wrong_index_has_the_error_of_a_first_run(tmp_path, gathered):
    model, given, table, _ = gathered
    _, again, is_read = run_once(tmp_path, model, given)
    wrong = {"i": given["i"].copy()}
    wrong["i"][3] = 13
    with pytest.raises(IndexError, match=re.escape("indices[3] is 13")) as raised:
        again(**wrong)
    assert "node" in "".join(raised.value.__notes__)
    assert is_read()
    np.testing.assert_array_equal(again(**given)[0], table[given["i"]])


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_indices_that_launches_compute(tmp_path, rng, dtype):
    table = rng.standard_normal((13, 5), np.float32)
    nodes = [("Add", ["i", "one"], ["j"]), ("Gather", ["t", "j"], ["g"]), ("Relu", ["g"], ["y"])]
    inputs = [("i", (7,), onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))]
    model = model_of(nodes, inputs, [("y", (7, 5))], [("t", table), ("one", dtype([1]))])
    i = rng.integers(0, 12, 7).astype(dtype)
    _, again, is_read = run_once(tmp_path, model, {"i": i})
    for _ in range(3):
        np.testing.assert_array_equal(again(i=i)[0], np.maximum(table[i + 1], 0))
    assert not is_read()
    wrong = i.copy()
    wrong[2] = 12
    with pytest.raises(IndexError, match="is 13"):
        again(i=wrong)
    negative = np.where(np.arange(7) == 4, -3, i).astype(dtype)
    np.testing.assert_array_equal(again(i=negative)[0], np.maximum(table[negative + 1], 0))


GATHERS = {
    "inputs": [("Gather", ["t", "i"], ["y"])],
    "computed ones": [("Add", ["i", "zero"], ["j"]), ("Gather", ["t", "j"], ["y"])],
    "gathered ones": [("Gather", ["places", "i"], ["j"]), ("Gather", ["t", "j"], ["y"])],
    "gathered and cast ones": [("Gather", ["places", "i"], ["k"]), ("Cast", ["k"], ["j"], {"to": TensorProto.INT32}),
                               ("Gather", ["t", "j"], ["y"])],
    "a part": [("Slice", ["i", "first", "last"], ["j"]), ("Gather", ["t", "j"], ["y"])],
}  # fmt: skip


@pytest.mark.parametrize("kind", GATHERS)
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("first", [0, 1])
def test_a_plan_has_indices_of_any_sign(tmp_path, rng, kind, dtype, first):
    """Whether the run that is recorded has negative indices does not matter to the others."""
    table, places = rng.standard_normal((13, 5), np.float32), rng.integers(-13, 13, 9).astype(dtype)
    constants = [
        ("t", table),
        ("places", places),
        ("zero", dtype([0])),
        ("first", np.array([1])),
        ("last", np.array([4])),
    ]
    size = 3 if kind == "a part" else 7
    inputs = [("i", (7,), onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))]
    model = model_of(GATHERS[kind], inputs, [("y", (size, 5))], constants)
    given = [np.array(i, dtype) for i in ([0, 3, 8, 3, 1, 2, 5], [-1, 3, -9, 0, -2, 8, -5])]
    expected = []
    for i in given:
        rows = places[i] if "gathered" in kind else i[1:4] if kind == "a part" else i
        expected.append(table[rows])
    _, again, is_read = run_once(tmp_path, model, {"i": given[first]})
    for k in (first, 1 - first, 0, 1):
        np.testing.assert_array_equal(again(i=given[k])[0], expected[k])
    assert not is_read()
    wrong = given[1].copy()
    wrong[2] = 13
    with pytest.raises(IndexError, match="is 13"):
        again(i=wrong)
    np.testing.assert_array_equal(again(i=given[first])[0], expected[first])


def test_errors_of_inputs_need_no_graph(tmp_path, gathered):
    model, given, *_ = gathered
    _, again, is_read = run_once(tmp_path, model, given)
    with pytest.raises(ValueError, match="i is missing"):
        again()
    with pytest.raises(ValueError, match="no z"):
        again(**given, z=given["i"])
    with pytest.raises(TypeError, match="must be int64"):
        again(i=given["i"].astype(np.float32))
    with pytest.raises(ValueError, match="no q"):
        again.run(["q"], given)
    assert not is_read()


def test_several_threads_have_memory_of_their_own(tmp_path, rng):
    model, given = several(rng)
    path = written(tmp_path, model)
    expected = [loaded(path)[0](**one) for one in given]
    again, is_read = loaded(path)
    found = {}
    run_together(
        lambda number: found.update({number: [again(**given[number]) for _ in range(20)]}),
        [(number,) for number in range(len(given))],
    )
    for number, wanted in enumerate(expected):
        assert len(found[number]) == 20
        for each in found[number]:
            for one, other in zip(each, wanted, strict=True):
                np.testing.assert_array_equal(one, other)
    assert not is_read()


def test_a_file_that_is_removed_or_replaced_is_read_as_it_was(tmp_path, gathered):
    model, given, table, _ = gathered
    path, again, _ = run_once(tmp_path, model, given)
    again(**given)
    path.unlink()
    path.write_bytes(b"something else")
    np.testing.assert_array_equal(again(i=np.arange(3))[0], table[:3])
    with pytest.raises(ModelError, match="not an ONNX model"):
        ep.onnx.load(path)


def test_a_file_that_is_written_over_is_not_read_as_the_one_that_was_loaded(tmp_path, gathered):
    model, given, table, _ = gathered
    path, again, _ = run_once(tmp_path, model, given)
    again(**given)
    path.write_bytes(b"something else")
    np.testing.assert_array_equal(again(**given)[0], table[given["i"]])  # nothing is read any more
    with pytest.raises(ModelError, match="has changed since"):
        again(i=np.arange(3))


def test_a_plan_that_is_dropped_leaves_nothing(tmp_path, rng):
    """Objects, mapped memory and open files are those of before, without the garbage collector; and memory."""
    model, given = several(rng)
    path, process = written(tmp_path, model), Path("/proc/self")
    if not process.exists():
        pytest.skip("the system does not list open files")
    loaded(path)[0](**given[0])

    def left():
        files = [os.path.realpath(one) for one in (process / "fd").iterdir()]
        return len(gc.get_objects()), len((process / "maps").read_text().splitlines()), files.count(str(path))

    def run():
        model = ep.onnx.load(path)
        model(**given[0])
        assert left()[2] == 1

    def blocks():
        gc.collect()  # also what Python keeps for new objects
        return sys.getallocatedblocks()

    for _ in range(5):
        run()
    grown = []
    while len(grown) < 12 and min(grown, default=60) >= 60:  # other caches may grow at first; what is left, each time
        before = blocks()
        gc.disable()
        try:
            run()
            first = left()
            for _ in range(60):
                run()
            objects, mapped, files = (now - then for now, then in zip(left(), first, strict=True))
        finally:
            gc.enable()
        assert mapped <= 2
        assert files == 0
        grown.append(max(objects, blocks() - before))
    assert min(grown) < 60, grown


@pytest.mark.parametrize("is_restored", [False, True])
def test_plans_keep_no_more_than_so_many_bytes(tmp_path, rng, monkeypatch, is_restored):
    """Constants that a plan has for its sizes are freed with it, when others have more than the bound."""
    monkeypatch.setattr(bounded_cache, "MOST_BYTES", 2**16)
    weight, table = rng.standard_normal((71, 67), np.float32), rng.standard_normal((90, 67), np.float32)
    nodes = [("MatMul", ["x", "w"], ["p"]), ("Shape", ["x"], ["n"], {"end": 1})]
    nodes += [("Slice", ["v", "zero", "n"], ["s"]), ("Neg", ["s"], ["m"]), ("Add", ["p", "m"], ["y"])]
    constants = [("w", weight), ("v", table), ("zero", np.array([0]))]
    path = written(tmp_path, model_of(nodes, [("x", ("n", 71))], [("y", ("n", 67))], constants))
    sizes, given = [*range(74, 90)], {n: rng.standard_normal((n, 71), np.float32) for n in range(74, 90)}
    if is_restored:
        first, _ = loaded(path)
        for n in sizes:
            for _ in range(2):
                first(x=given[n])
        del first
        gc.collect()
    made, is_read = loaded(path)
    for n in (*sizes, *sizes[::-1], *sizes):
        np.testing.assert_allclose(made(x=given[n])[0], given[n] @ weight - table[:n], rtol=1e-4, atol=1e-4)
    gc.collect()
    known = {id(one): one for one in CONSTANTS._known.values()}
    assert len([one for one in known.values() if one.shape[:1] > (73,) and one.shape[1:] == (67,)]) < len(sizes)
    assert is_read() is not is_restored


def test_tensors_in_other_files_are_not_kept(tmp_path, gathered):
    model, given, table, _ = gathered
    path = written(tmp_path, model)
    onnx.save_model(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    loaded(path)[0](**given)
    again, is_read = loaded(path)
    assert is_read()
    np.testing.assert_array_equal(again(**given)[0], table[given["i"]])


def test_kernels_that_are_registered_later_compute(tmp_path, rng):
    x = rng.standard_normal((3, 5), np.float32)
    path = written(tmp_path, model_of([("Softmax", ["x"], ["y"])], [("x", (3, 5))], [("y", (3, 5))]))
    expected = loaded(path)[0](x=x)
    again, is_read = loaded(path)
    again(x=x)
    assert not is_read()
    calls = []

    class Noted(Kernel):
        def compute(self, call):
            calls.append(call)
            call.outputs[0][...] = 7

    with registered("softmax", Noted):
        assert (again(x=x)[0] == 7).all()
        assert calls
        assert (loaded(path)[0](x=x)[0] == 7).all()
    np.testing.assert_array_equal(loaded(path)[0](x=x)[0], expected[0])


def test_a_process_with_another_device_reads_and_writes_plans_for_the_cpu(tmp_path):
    nodes = [("Relu", ["x"], ["r"]), ("Softmax", ["r"], ["y"])]
    path = written(tmp_path, model_of(nodes, [("x", (3, 5))], [("y", (3, 5))]))
    code = f"""
import numpy as np
import ep.onnx, ep_numpy_device
from ep.include.additions import has_additions
from ep import DeviceType
from tests.onnx.kept import loaded
assert ep.onnx.load({str(path)!r}, "numpy", "cpu")(x=np.ones((3, 5), np.float32))
assert [one.tag for one in DeviceType if has_additions(one)] == ["numpy"]
model, is_read = loaded({str(path)!r})
(found,) = model(x=np.ones((3, 5), np.float32))
assert (abs(found - 0.2) < 1e-6).all()
print(is_read())
"""
    assert [run(code, f"{SOURCES}/examples/ep_numpy_device") for _ in range(2)] == ["True\n", "False\n"]


def test_a_plan_whose_kernels_have_been_removed_is_made_again(tmp_path, rng, monkeypatch):
    model, given = several(rng)
    path = written(tmp_path, model)
    expected = loaded(path)[0](**given[0])
    monkeypatch.setattr(machine_code, "_of_files", {})
    read = CACHE.read

    def missing(name, form):
        return None if name.startswith("launch.") else read(name, form)

    monkeypatch.setattr(CACHE, "read", missing)
    again, is_read = loaded(path)
    for one, other in zip(again(**given[0]), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert is_read()


def test_a_function_that_machine_code_calls_by_name_and_that_has_been_removed(monkeypatch):
    monkeypatch.setattr(machine_code, "_not_loaded", {})
    origin = machine_code.Origin("called-0.kernel", 0)
    machine_code.name_functions_on_disk(CACHE, {"ep.called": origin})
    with pytest.raises(machine_code.NotOnDiskError, match="called-0"):
        machine_code._address_of("ep.called")


def test_plans_for_another_processor_are_made_again(tmp_path, rng, monkeypatch):
    model, given = several(rng)
    path = written(tmp_path, model)
    loaded(path)[0](**given[0])
    target = image.target(CACHE)
    monkeypatch.setattr("ep.cpu.engine.repeat.restored.target", lambda cache: target._replace(features="+none"))
    again, is_read = loaded(path)
    again(**given[0])
    assert is_read()


def test_functions_are_loaded_where_no_other_thread_forks_or_compiles(tmp_path, gathered, monkeypatch):
    model, given, *_ = gathered
    path = written(tmp_path, model)
    loaded(path)[0](**given)
    inside = []

    def noted(*args):
        inside.append(section._inside)
        return machine_code.functions_on_disk(*args)

    monkeypatch.setattr("ep.cpu.engine.repeat.restored.functions_on_disk", noted)
    loaded(path)[0](**given)
    assert {*inside} == {threading.get_ident()}


def test_constants_are_found_in_the_file_in_any_order():
    first, second, other = (np.arange(begin, begin + 16, dtype=np.float32) for begin in (0, 16, 99))
    contents = b"..." + first.tobytes() + b"." + second.tobytes()
    packed, large = stored_plan.packed(
        stored_plan.Launches(bytes, [], [], [], [second, first, other, first]), b"", lambda: contents, {}
    )
    (*_, constants, _), _, own = stored_plan.unpacked(packed)
    assert [(one.digest != "", one.is_file, one.offset) for one in constants] == [
        (True, False, 68),
        (True, False, 3),
        (False, False, 0),
        (True, False, 3),
    ]
    assert not large
    assert own == other.tobytes()
    assert packed.count(second.tobytes()) == 0


def test_an_address_of_something_unknown_has_no_image():
    words = np.array([1, 2, id(object)], np.int64)
    assert image.image_of(0, Words(words, [2]), [], [], []) is None


def test_another_process_needs_neither_onnx_nor_operators(tmp_path, rng, run_forked):
    model, given = several(rng)
    path = written(tmp_path, model)
    expected = loaded(path)[0](**given[0])
    np.savez(tmp_path / "inputs.npz", **given[0])
    run_forked(
        f"""
import os, sys
import numpy as np
import ep.onnx
given = dict(np.load({str(tmp_path / "inputs.npz")!r}))
model = ep.onnx.load({str(path)!r})
found = model(**given)
assert not {{"onnx", "ep.ops", "ep.expressions", "ep.cpu.primitive"}} & {{*sys.modules}}, sys.modules.keys()
child = os.fork()
if child == 0:
    again = model(**given)
    os._exit(0 if all(np.array_equal(one, other) for one, other in zip(found, again)) else 1)
assert os.waitpid(child, 0)[1] == 0
np.savez({str(tmp_path / "found.npz")!r}, *found)
"""
    )
    with np.load(tmp_path / "found.npz") as found:
        for name, other in zip(found.files, expected, strict=True):
            np.testing.assert_array_equal(found[name], other)
