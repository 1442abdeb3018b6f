"""CUDA for the device layer: the driver, cuBLASLt and the packages that contain them."""
