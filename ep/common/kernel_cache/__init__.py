"""The kernels that were compiled, on disk: where they are, under which key, and what is trusted. Imports no compiler.

`cache` has the class that a device uses. `container` is the form of a file, `ownership` says whose files are read,
`sources` what a process knows of the package's own sources, and `reach` which of them a kernel is made of. `statistics`
counts what a process compiles and loads.
"""

from ep.common.kernel_cache.cache import KernelCache, usage, user_cache_folder

__all__ = ["KernelCache", "usage", "user_cache_folder"]
