"""Compilation of Python functions to machine code: the use of Numba's compiler, raw memory access, and the disk cache.

Only modules of this package and of `threads`, `engine`, `kernels` and `vector_math` import Numba. They are imported at
the first launch.
"""

from ep.common.environment import check_compiler

check_compiler()
