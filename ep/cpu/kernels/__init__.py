"""The compiled side of the CPU device. Only its modules import Numba, and only a first launch imports them."""

from ep.common.environment import check_compiler

check_compiler()
