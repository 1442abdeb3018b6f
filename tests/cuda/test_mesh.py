"""Pieces in GPU memory: passed to MPI directly if it accepts GPU memory, otherwise copied through the host."""

import numpy as np
import pytest

import ep.ops
from ep import DeviceType
from ep.common.arrays.on_device import arrays_on
from ep.mesh import reporting
from ep.mesh.transport import Group
from tests.mesh.jobs import mpiexec
from tests.mesh.stand_in import Alike, address

pytest.importorskip("mpi4py")


@pytest.mark.parametrize("kinds", ["mpi,system", "mpi,system,cuda"])
def test_arrays_of_a_gpu(kinds, cuda, caplog):
    """They are passed to MPI directly if it accepts them; otherwise they are copied through host memory."""
    comm, arrays = Alike(kinds), arrays_on(DeviceType.kCUDA)
    piece = ep.ops.copy_to_device(np.arange(5, dtype=np.float16), DeviceType.kCUDA)
    with reporting() as report:
        both = Group(comm).all_gather(arrays, piece, [5, 5])
    assert ep.ops.copy_to_host(both).tolist() == [0, 1, 2, 3, 4] * 2
    ((source, target),) = comm.given
    direct = "cuda" in kinds
    assert (address(source[0]) == piece.address) == direct
    assert (address(target[0]) == both.address) == direct
    assert report.staged == (set() if direct else {"cuda:0"})
    assert ("arrays on cuda:0 went through memory of the host" in str(report)) != direct
    assert report.sent == 10


ON_RANKS = """
import numpy as np
from tests.devices import prepare
prepare("cuda")
import ep.ops
from ep.cuda.arrays.array import CudaArray
from ep.mesh import Placement, from_whole
placement = Placement(2)
whole, tokens = np.arange(15, dtype=np.float32).reshape(5, 3), np.array([4, 0, 3])
table, indices = (from_whole(ep.ops.copy_to_device(one, "cuda"), placement, "B") for one in (whole, tokens))
for sbp in ("S(0)", "S(1)", "P"):
    moved = table.to(sbp)
    rows = ep.ops.add(ep.ops.gather(moved, indices), 1)
    assert isinstance(rows.to_local(), CudaArray)
    assert np.array_equal(rows.numpy(), whole[tokens] + 1)
    assert np.array_equal(moved.to("S(1)").to("S(0)").numpy(), whole)
"""


def test_tensors_on_gpus(cuda):
    mpiexec(2, "-c", ON_RANKS)
