"""The compiled code of the CUDA device. These modules import Numba, and only a first launch imports them."""
