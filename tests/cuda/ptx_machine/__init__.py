"""Runs CUDA kernels on the CPU from their PTX: what NVVM made of a kernel, and not the Python that it came from.

The machine stands behind the seam of `ep.cuda.driver.interface`: to the package it is a GPU of compute capability 9.0
with warps, shared memory and barriers. A kernel that a GPU would run into undefined behaviour with ends in a `PtxError`
that names the kernel, the line of its PTX and the thread.

- `parser` reads PTX, and `syntax` is what it makes of it; `types` has PTX's types, and `code` writes LLVM's assembly
  language.
- `translator` makes an LLVM function of each PTX function, by `function`, `operands` and `instructions/`, one file for
  each kind of them. An instruction that is not known is an error that names it.
- `layout` has the words by which translated code and what runs it speak to each other.
- `memory` checks each access; `scheduler` runs the threads of a block in turn and lets them meet at barriers, and
  `warp` at shuffles and votes. All are compiled by Numba.
- `objects` keeps compiled code on disk; `machine` has `Program`, which loads, launches and counts.
- `driver` is the device, `cublas_lt` multiplies on it, and `install` puts both in the place of a GPU.

What is not modelled: ptxas and what it may change (the order of accesses, and products and sums that PTX leaves open to
be fused), how fast anything is, the last bits of `.approx` instructions (they are rounded correctly here), the payload
of NaN, and races on global memory.
"""
