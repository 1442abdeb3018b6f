"""The group "fuse": expressions of real kernels, computed in one kernel, compared with other libraries."""
