"""The parts of the disk cache that need no compiler."""
