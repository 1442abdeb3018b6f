"""The compiled side of the CUDA device. Only its modules import Numba, and only a first launch imports them."""
