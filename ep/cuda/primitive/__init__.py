"""The primitives on CUDA. They import no Numba: `NewPrimitive` is a look-up, and a first launch compiles."""
