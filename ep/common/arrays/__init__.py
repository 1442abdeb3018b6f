"""The parts with which operators run on arrays of any device: checks, DLPack, and arrays in host memory."""
