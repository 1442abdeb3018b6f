"""The CPU as a device: the device and its streams, the start of its threads, and its findings for `ep doctor`."""
