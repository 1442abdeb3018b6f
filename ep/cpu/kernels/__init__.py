"""The compiled side of the CPU device. Only modules of this folder import Numba, and only a first launch imports them."""
