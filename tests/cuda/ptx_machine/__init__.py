"""Runs CUDA kernels on the CPU from their PTX: the code that NVVM compiled, not the Python source of the kernel.

The machine implements the interface `ep.cuda.driver.interface`: to the package it is a GPU of compute capability 9.0
with warps, shared memory and barriers. A kernel whose behaviour would be undefined on a GPU ends in a `PtxError`
that names the kernel, the line of its PTX and the thread.

- `parser` reads PTX into the objects of `syntax`; `types` has PTX's types, and `code` writes LLVM's assembly language.
- `translator` makes an LLVM function of each PTX function, with `function`, `operands` and `instructions/`, which has
  one file for each kind of instruction. An unknown instruction raises an error that names it.
- `layout` has the words that translated code shares with the scheduler and the memory checks.
- `memory` checks each access; `scheduler` runs the threads of a block in turn and synchronises them at barriers; `warp`
  synchronises the lanes of a warp at shuffles and votes. Numba compiles all three.
- `objects` keeps compiled code on disk; `machine` has `Program`, which loads, launches and counts.
- `driver` is the device, `cublas_lt` multiplies matrices on it, and `install` makes both replace a GPU.

The machine does not model ptxas and the changes that it may make (the order of accesses, and the fusion of products and
sums that PTX permits), speed, the last bits of `.approx` instructions (they are rounded correctly here), the payload of
NaN, or races on global memory that `stamps` does not watch.
"""
