"""Plans on disk of processes with one run, and of copies of models."""

import copy
import gc
import os
import pickle
import threading

import numpy as np
import pytest

from ep.cpu.device_manager import CACHE
from ep.expressions.named_program import NamedProgram
from ep.include import additions
from tests.onnx.kept import loaded, run_once, written


def test_a_process_with_one_run_replaces_a_damaged_plan(tmp_path, gathered):
    model, given, table, _ = gathered
    path = written(tmp_path, model)
    first, _ = loaded(path)
    first(**given)
    (file,) = CACHE.folder().glob(f"launches.{first._source.digest}-*.plan")
    *others, last = file.read_bytes()
    file.write_bytes(bytes([*others, last ^ 1]))
    for damaged in (True, False):
        again, is_read = loaded(path)
        np.testing.assert_array_equal(again(**given)[0], table[given["i"]])
        assert is_read() == damaged


def test_a_process_with_one_run_keeps_the_plan_for_other_shapes(tmp_path, gathered):
    model, given, table, _ = gathered
    path = written(tmp_path, model)
    loaded(path)[0](**given)
    for known in (False, True):
        again, is_read = loaded(path)
        np.testing.assert_array_equal(again(i=np.arange(5))[0], table[:5])
        assert is_read() != known


def test_a_process_with_other_kernels_runs_a_new_plan_once(tmp_path, gathered, monkeypatch):
    model, given, *_ = gathered
    path = written(tmp_path, model)
    monkeypatch.setattr(additions, "_ADDED", {None})
    calls, computed = [], NamedProgram.computed
    monkeypatch.setattr(NamedProgram, "computed", lambda *args: calls.append(args) or computed(*args))
    loaded(path)[0](**given)
    assert len(calls) == 1


def test_a_copy_finds_the_plans_of_its_process_and_shares_no_memory(tmp_path, gathered, monkeypatch):
    model, given, table, _ = gathered
    _, again, _ = run_once(tmp_path, model, given)
    packed = pickle.dumps(again)
    for one in (copy.deepcopy(again), pickle.loads(packed)):
        np.testing.assert_array_equal(one(**given)[0], table[given["i"]])
        assert one._stored._made is None
        for another in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # of one that has run
            np.testing.assert_array_equal(another(**given)[0], table[given["i"]])
            assert another._stored._made is None
    monkeypatch.setattr(type(CACHE), "digest", lambda self: "other sources")
    newer = pickle.loads(packed)
    np.testing.assert_array_equal(newer(**given)[0], table[given["i"]])
    assert newer._stored._made is not None


def test_a_copy_needs_no_file_of_the_model_that_it_is_a_copy_of(tmp_path, gathered):
    model, given, table, _ = gathered
    path, again, _ = run_once(tmp_path, model, given)
    again.explain(i=(7,))  # the file has been read, and its contents are free
    one = copy.deepcopy(again)
    del again, _
    gc.collect()
    path.unlink()
    np.testing.assert_array_equal(one(**given)[0], table[given["i"]])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_model_from_a_pipe_is_read_once(tmp_path, gathered):
    model, given, table, _ = gathered
    path, pipe = written(tmp_path, model), tmp_path / "pipe"
    loaded(path)[0](**given)
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    again, is_read = loaded(pipe)
    writer.join()
    np.testing.assert_array_equal(again(**given)[0], table[given["i"]])
    assert not is_read()
    np.testing.assert_array_equal(again(i=np.arange(4))[0], table[:4])
