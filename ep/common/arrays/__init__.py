"""The parts that let operators run on arrays of any device: checks, DLPack, and arrays in memory of the host."""
