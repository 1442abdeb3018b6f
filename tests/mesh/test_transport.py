"""The data that is passed to MPI."""

import numpy as np
import pytest

from ep import DeviceType
from ep.common.arrays.on_device import arrays_on
from ep.mesh.transport import Group
from tests.mesh.stand_in import Alike

pytest.importorskip("mpi4py")


def test_counts_above_2_to_the_31():
    """The memory is never touched; `np.empty` only reserves it."""
    comm, size = Alike(), 2**29 + 3
    Group(comm).all_gather(arrays_on(DeviceType.kCPU), np.empty(size, np.float32), [size, size])
    ((source, target),) = comm.given
    assert source[1] == 4 * size
    assert target[1] == ([4 * size, 4 * size], [0, 4 * size])
    assert {type(count) for counts in target[1] for count in counts} == {int}
