"""The group "fuse": expressions of real kernels, computed in one kernel, beside libraries that compute them."""
