"""`ep run --sbp` on ranks that mpiexec starts: results, bytes moved, bytes read by each rank, and the same errors on
all.
"""

import json

import ml_dtypes
import numpy as np
import pytest

from ep.sbp import Split, bytes_moved, span
from tests.mesh.jobs import mpiexec_in_turn

pytest.importorskip("mpi4py")

RANKS = 4
GATHER = ("gather", "--params", "table.npy", "--indices", "tokens.npy")
RUNS = {
    "rows": (*GATHER, "--sbp", "S(0)"),
    "columns": (*GATHER, "--sbp", "params=S(0)", "--sbp", "indices=S(0)"),
    "quiet": (*GATHER, "--sbp", "S(0)", "--quiet"),
    "mesh": (*GATHER, "--sbp", "S(0),B", "--sbp", "indices=B,S(0)", "--mesh", "2x2"),
    "sum": ("sum", "--x", "table.npy", "--sbp", "S(0)"),
    "split": ("split", "--x", "table.npy", "--indices-or-sections", "2,3", "--axis", "1", "--sbp", "S(0)"),
    "concat": ("concat", "--arrays", "table.npy", "table.npy", "--axis", "1", "--sbp", "S(0)"),
    "halves": ("mul", "--x", "bf16.npy", "--y", "0.5", "--sbp", "S(0)", "--read-as", "bfloat16"),
    "empty": ("relu", "--x", "empty.npy", "--sbp", "S(1)"),
}
ERRORS = {
    "no axis": ((*GATHER, "--sbp", "S(2)"), "array of shape (11, 5) has no axis 2 to be split along"),
    "no input": ((*GATHER, "--sbp", "table=B"), "gather has no input 'table'; it has params, indices"),
    "other mesh": ((*GATHER, "--mesh", "2x4"), "a mesh of 2 x 4 has 8 ranks, and this job has 4"),
    "one axis": ((*GATHER, "--mesh", "2x2", "--sbp", "S(0)"), "is for a mesh of 1 axes, and this one has 2"),
    "on one rank": (("relu", "--x", "lonely.npy", "--sbp", "S(0)"), "lonely.npy cannot be read: No such file"),
    "an index": (("gather", "--params", "table.npy", "--indices", "wrong.npy", "--sbp", "indices=S(0)"), "is 11"),
    "a pipe": ((*GATHER, "--sbp", "B", "--out", "/dev/null"), "/dev/null is not a file, and each rank writes"),
    "no folder": ((*GATHER, "--sbp", "B", "--out", "no/rows.npy"), "there is no folder"),
}


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The folder of one job that has run all of these commands, and the output of each command on each rank."""
    folder, rng = tmp_path_factory.mktemp("ranks"), np.random.default_rng(5)
    table = rng.random((11, 5), np.float32)
    arrays = {
        "table": table,
        "tokens": rng.integers(0, 11, 7),
        "wrong": np.array([1, 2, 3, 4, 5, 6, 11]),
        "bf16": table.astype(ml_dtypes.bfloat16),
        "empty": np.zeros((3, 0)),
    }
    np.savez(folder / "arrays.npz", table=table, tokens=arrays["tokens"])
    for rank in range(RANKS):
        (folder / str(rank)).mkdir()
        for name, array in arrays.items():
            np.save(folder / str(rank) / f"{name}.npy", array)
        begin, end = span(11, RANKS, rank)
        own = np.full_like(table, np.nan)  # the part that another rank has to read
        own[begin:end] = table[begin:end]
        np.save(folder / str(rank) / "own.npy", own)
        if rank != 2:
            np.save(folder / str(rank) / "lonely.npy", table)
    mine = (*GATHER[:2], "own.npy", *GATHER[3:], "--sbp", "S(0)")
    runs = {**RUNS, "own": mine}
    commands = [["run", *one, "--out", f"../{name}.npy"] for name, one in runs.items()]
    for one, _ in ERRORS.values():
        commands.append(["run", *one, *(() if "--out" in one else ("--out", "../wrong.npy"))])
    (folder / "commands.json").write_text(json.dumps(commands))
    mpiexec_in_turn(RANKS, "-m", "tests.cli.ranks_program", str(folder))
    said = json.loads((folder / "said.json").read_text())
    return folder, dict(zip([*runs, *ERRORS], said, strict=True))


def taken(folder):
    arrays = np.load(folder / "arrays.npz")
    return arrays["table"], arrays["tokens"]


@pytest.mark.ep_long
@pytest.mark.parametrize("name", ["rows", "columns", "quiet", "mesh", "own"])
def test_rows_of_a_table(job, name):
    folder, said = job
    assert [one[0] for one in said[name]] == [0] * RANKS
    table, tokens = taken(folder)
    np.testing.assert_array_equal(np.load(folder / f"{name}.npy"), table[tokens])
    assert not list(folder.glob("*.partial"))


@pytest.mark.ep_long
def test_what_is_said(job):
    _, said = job
    (_, out, err), *others = said["rows"]
    lines = out.splitlines()
    assert err == ""
    assert lines[0].startswith("../rows.npy: float32, 7 x 5 (140 bytes), computed in ")
    assert lines[0].endswith(" on a mesh of 4 ranks")
    moved = bytes_moved(Split(0), Split(1), (11, 5), 4, RANKS)  # only a small table is resplit
    assert lines[1] == "  gather: S(1), B -> S(1)"
    assert lines[-1] == f"  in all {moved} bytes by the cost model; {moved} were handed to MPI"
    assert others == [[0, "", ""]] * 3
    assert said["quiet"] == [[0, "", ""]] * 4
    assert "gather: S(1), B -> S(1); B, S(0) -> S(0)" in said["mesh"][0][1]


@pytest.mark.ep_long
def test_other_operators(job):
    folder, _ = job
    table, _ = taken(folder)
    np.testing.assert_allclose(np.load(folder / "sum.npy"), table.sum(), rtol=1e-6)
    for number, part in enumerate(np.split(table, [2, 3], axis=1)):
        np.testing.assert_array_equal(np.load(folder / f"split.{number}.npy"), part)
    np.testing.assert_array_equal(np.load(folder / "concat.npy"), np.concatenate([table, table], axis=1))
    halves = np.load(folder / "halves.npy").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(halves, table.astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(0.5))
    assert np.load(folder / "empty.npy").shape == (3, 0)


@pytest.mark.ep_long
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_all_ranks(job, name):
    folder, said = job
    (code, out, err), *others = said[name]
    wrong = 2 if name in ("no input", "one axis") else 1
    operator = ERRORS[name][0][0]
    assert (code, out) == (wrong, "")
    assert err.startswith(f"ep run {operator}: error: ")
    assert ERRORS[name][1] in err
    assert err.splitlines()[1:] == [f"Try 'ep run {operator} --help'."] * (wrong - 1)
    assert others == [[wrong, "", ""]] * 3
    assert not (folder / "wrong.npy").exists()


def test_one_process_is_a_job_of_one_rank(ep, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(-3.0, 4))
    done = ep("run", "relu", "--x", tmp_path / "x.npy", "--sbp", "S(0)", "--out", tmp_path / "y.npy")
    assert (done.code, done.err) == (0, "")
    assert "on a mesh of 1 ranks" in done.out
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), [0, 0, 0, 0, 1, 2, 3])


def test_without_mpi4py_it_says_what_to_install(ep, tmp_path, monkeypatch):
    from ep.mesh import world

    def missing():
        raise ModuleNotFoundError("tensors on a mesh need mpi4py: pip install 'ep-primitives[mpi]'", name="mpi4py")

    monkeypatch.setattr(world, "world", missing)
    np.save(tmp_path / "x.npy", np.arange(3.0))
    done = ep("run", "relu", "--x", tmp_path / "x.npy", "--sbp", "S(0)", "--out", tmp_path / "y.npy")
    assert (done.code, done.out) == (1, "")
    assert done.err == "ep run relu: error: tensors on a mesh need mpi4py: pip install 'ep-primitives[mpi]'\n"
