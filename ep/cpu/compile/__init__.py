"""Compilation of Python functions to machine code: the use of Numba's compiler, raw memory access, and the disk cache.

Numba and LLVM are imported when a kernel is first compiled; a process whose kernels are on disk does not import them.
"""

from ep.common.environment import check_compiler

check_compiler()
