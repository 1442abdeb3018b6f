"""CUDA as the device layer sees it: the driver, cuBLASLt and the packages that they come from."""
