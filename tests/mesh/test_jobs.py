"""Properties of one process: nothing starts MPI implicitly, the error without mpi4py helps, and one process is a
mesh."""

import pytest

from tests.subprocesses import run


def test_importing_does_not_start_mpi():
    run("import sys, ep, ep.ops, ep.mesh\nassert not [name for name in sys.modules if 'mpi4py' in name]")


MISSING = "import sys\nsys.modules['mpi4py'] = None\nfrom ep.mesh import Placement\nPlacement(1)"


def test_without_mpi4py():
    message = run(MISSING, fails=True).splitlines()[-1]
    assert message == "ModuleNotFoundError: tensors on a mesh need mpi4py: pip install 'ep-primitives[mpi]'"


def test_without_a_library_of_mpi(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").touch()
    (tmp_path / "mpi4py" / "MPI.py").write_text("raise RuntimeError('cannot load MPI library')")
    message = run("from ep.mesh import Placement\nPlacement(1)", str(tmp_path), fails=True).splitlines()[-1]
    assert (
        message
        == "ImportError: mpi4py finds no library of MPI (cannot load MPI library): pip install 'ep-primitives[mpi]'"
    )


ALONE = """
import numpy as np
from ep.mesh import Placement, to_global
import ep.ops
x = to_global(np.arange(3.0), Placement(1), "S(0)")
assert ep.ops.add(x, 1).to("P").numpy().tolist() == [1, 2, 3]
assert repr(x) == "<GlobalTensor of float64, shape (3,), S(0) on a mesh of 1 ranks>"
Placement(2)
"""


def test_one_process_is_a_mesh():
    pytest.importorskip("mpi4py")
    message = run(ALONE, fails=True).splitlines()[-1]
    assert message == "ValueError: a mesh of 2 has 2 ranks, and this job has 1: mpiexec -n 2 starts it"
