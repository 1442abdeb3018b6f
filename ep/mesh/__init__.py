"""Tensors on a mesh of processes, which MPI connects: each rank has its piece, and `ep.ops` computes with all of them.

    table = from_whole(numpy.load("table.npy", mmap_mode="r"), Placement(4), "S(0)")
    rows = ep.ops.gather(table, from_whole(tokens, table.placement, "B"))
    rows.to("B").to_local()

Every rank runs the same program and calls the functions of this package and the operators in the same order. An error
on one rank is raised on all ranks and names the rank that failed. An exception that is not caught ends the job, and so
does a rank that ends while others wait for it.
"""

from ep.mesh.errors import RankError
from ep.mesh.operands import under
from ep.mesh.placement import Placement
from ep.mesh.report import Change, Report, Run, reporting
from ep.mesh.tensor import GlobalTensor, from_whole, to_global

__all__ = [
    "Change",
    "GlobalTensor",
    "Placement",
    "RankError",
    "Report",
    "Run",
    "from_whole",
    "reporting",
    "to_global",
    "under",
]


def __dir__() -> list[str]:
    return __all__
