"""The variables that one block alone uses and assigns, once: compiled code keeps them in registers.

The compiler of CUDA's kernels looks at all assignments of a block for each of its variables, which takes a thirtieth of
a kernel's compile time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ep.common.native.replaced import replaced


@contextmanager
def assigned_once_in_one_pass(numbas: Any) -> Iterator[None]:
    """Make Numba find these variables in one pass over a function; the caller holds Numba's lock.

    numbas: Numba's module `lowering`.
    """

    def find(self: Any) -> None:
        blocks = self.func_ir.blocks
        inherited = set[str]().union(*numbas.compute_use_defs(blocks).usemap.values())
        assignments = (one for block in blocks.values() for one in block.find_insts(numbas.ir.assign_types))
        assigned = Counter(one.target.name for one in assignments)
        once = {name for name, times in assigned.items() if times == 1 and name not in inherited}
        self._singly_assigned_vars = once - numbas.must_use_alloca(blocks)
        self._blk_local_varmap = {}

    with replaced(numbas.Lower, "_find_singly_assigned_variable", find):
        yield
