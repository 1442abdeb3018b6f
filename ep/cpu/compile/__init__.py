"""From functions of Python to machine code: Numba's compiler as it is used here, raw memory, and the disk cache.

Modules that import Numba are in this package and in `threads`, `engine`, `kernels` and `vector_math`; only a first
launch imports them.
"""

from ep.common.environment import check_compiler

check_compiler()
