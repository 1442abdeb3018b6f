"""NumPy arrays as arguments of compiled functions, which get the addresses of the objects.

An entry gets the address of the object and reads type, data type, flags and sizes from the array structure, at the
offsets that `object_layout` has found. It only reports "as expected" or "not as expected". In the second case the
Python checks handle the arguments, or explain the error.
"""

from __future__ import annotations

from ep.common.native.objects import ArrayObject
from ep.cpu.compile.jit import jit
from ep.cpu.shared.state import ElementType


@jit
def array_data(array: ArrayObject, ndarray_type: int, dtype: int, num_elements: int, flags: int) -> int:
    """Return the address of an array's data, or 0 if the array is not as expected.

    array, ndarray_type, dtype: addresses of the object, of numpy.ndarray and of the expected dtype object.
    num_elements: the minimum number of elements.
    flags: READABLE or WRITABLE.
    """
    if array.type != ndarray_type or array.dtype != dtype:
        return 0
    if array.flags & flags != flags:
        return 0
    size = 1
    dims = array.dims
    for axis in range(array.num_dims):
        size *= dims[axis]
    return array.data if size >= num_elements else 0


@jit
def array_of_bytes(array: ArrayObject, ndarray_type: int, known_types: ElementType, num_bytes: int, flags: int) -> int:
    """Return the address of an array's data, of any known data type, or 0 if the array is not as expected.

    known_types: as in the launch state. num_bytes: the minimum number of bytes. The others are as for `array_data`.
    """
    if array.type != ndarray_type:
        return 0
    dtype, place = array.dtype, 0
    while known_types[place].dtype != dtype:
        if known_types[place].dtype == 0:
            return 0
        place += 1
    size = known_types[place].itemsize
    return array_data(array, ndarray_type, dtype, (num_bytes + size - 1) // size, flags)
