"""The parts of compiled host code that do not depend on a device: objects of Python that it reads, and C methods.

Only `emitted.py`, `words.py` and `python_calls.py` import Numba; modules of compiled code alone import them.
"""
