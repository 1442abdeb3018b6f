"""The compiled kernels on disk: their folders, their keys, and the check of trust. Imports no compiler.

`cache` has the class that a device uses. `container` has the format of a file, `ownership` the check of the owners of
files that are read. `sources` has the digest of the package's own sources as the process runs them, `record` keeps it,
`origins` finds functions of other packages. `statistics` counts the kernels that a process compiles and loads.
"""

from ep.common.kernel_cache.cache import KernelCache, usage, user_cache_folder

__all__ = ["KernelCache", "usage", "user_cache_folder"]
