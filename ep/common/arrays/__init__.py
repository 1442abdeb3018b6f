"""What devices share that let operators run on their arrays: checks, DLPack, and arrays in memory of the host."""
