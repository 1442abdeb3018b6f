"""The parts of compiled host code that do not depend on a device: objects of Python that it reads, and C methods.

`on_demand` has the modules of Numba and LLVM, which are imported when something is compiled. `machine_code` compiles,
or takes machine code from disk, which `elf` places in memory; `target` is what it is compiled for.
"""
