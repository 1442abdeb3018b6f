"""The CPU as a device: the device and its streams, what starts its threads, and what `ep doctor` says of it."""
