"""NumPy arrays and Python integers as arguments of compiled entries, read without Numba's unboxing.

An entry gets the address of the object and reads type, data type, flags and sizes from the array structure, whose
layout is part of NumPy's stable ABI. It only ever says "as expected" or "not as expected": what is not as expected
goes to the checks in Python, which explain what is wrong or put it right.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import NativeValue, intrinsic, register_model, unbox

from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_int, load_word
from ep.cpu.launch_state import INT_TYPE, NONE, TUPLE_TYPE

_WORD: Final = ir.IntType(64)
_INVALID: Final = -(2**63)
READABLE: Final = 0x0001  # NPY_ARRAY_C_CONTIGUOUS
WRITABLE: Final = 0x0401  # and NPY_ARRAY_WRITEABLE

# struct PyArrayObject_fields, after an object header whose size depends on how Python was built
_HEADER: Final = object.__basicsize__
_TYPE, _DATA, _NUM_DIMS, _DIMS, _DTYPE, _FLAGS = (_HEADER + offset for offset in (-8, 0, 8, 16, 40, 48))

# struct PyTupleObject
_LENGTH, _ITEMS = _HEADER, tuple.__basicsize__


class ObjectAddress(types.Type):
    """Any Python object, passed as its address."""

    def __init__(self) -> None:
        super().__init__("ObjectAddress")


class Words(types.Type):
    """An array of words that is known to be one, passed as the address of its data."""

    def __init__(self) -> None:
        super().__init__("Words")


class IndexInteger(types.Type):
    """A Python or NumPy integer, clipped to 64 bits; what is no integer arrives as the most negative number."""

    def __init__(self) -> None:
        super().__init__("IndexInteger")


class _WordModel(PrimitiveModel):
    def __init__(self, data_model_manager: Any, numba_type: Any) -> None:
        super().__init__(data_model_manager, numba_type, _WORD)


register_model(ObjectAddress)(_WordModel)
register_model(Words)(_WordModel)
register_model(IndexInteger)(_WordModel)

object_address: Final = ObjectAddress()
words: Final = Words()
index_integer: Final = IndexInteger()


@unbox(ObjectAddress)
def _unbox_object(numba_type: Any, value: Any, context: Any) -> NativeValue:
    return NativeValue(context.builder.ptrtoint(value, _WORD))


@unbox(Words)
def _unbox_words(numba_type: Any, value: Any, context: Any) -> NativeValue:
    builder = context.builder
    data = builder.add(builder.ptrtoint(value, _WORD), ir.Constant(_WORD, _DATA))
    return NativeValue(builder.load(builder.inttoptr(data, _WORD.as_pointer())))


@unbox(IndexInteger)
def _unbox_index(numba_type: Any, value: Any, context: Any) -> NativeValue:
    builder, api = context.builder, context.pyapi
    function_type = ir.FunctionType(_WORD, [api.pyobj, api.pyobj])
    as_ssize = cgutils.get_or_insert_function(builder.module, function_type, "PyNumber_AsSsize_t")
    clip = cgutils.get_null_value(api.pyobj)  # in place of an exception to raise
    number = cgutils.alloca_once_value(builder, builder.call(as_ssize, [value, clip]))
    suspect = builder.icmp_signed("==", builder.load(number), ir.Constant(_WORD, -1))
    with builder.if_then(suspect, likely=False):
        failed = builder.icmp_unsigned("!=", api.err_occurred(), cgutils.get_null_value(api.pyobj))
        with builder.if_then(failed, likely=False):
            api.err_clear()
            builder.store(ir.Constant(_WORD, _INVALID), number)
    return NativeValue(builder.load(number))


@intrinsic
def word(typing_context: Any, argument: Any) -> Any:
    """The int64 behind an argument of one of the types above."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0]

    return types.int64(argument), generate


@jit
def array_data(array, ndarray_type, dtype, num_elements, flags):  # type: ignore[no-untyped-def]
    """The address of an array's data, or 0 where the array is not as expected.

    array, ndarray_type, dtype: addresses of the object, of numpy.ndarray and of the expected dtype object.
    num_elements: how many elements are needed at least.
    flags: READABLE or WRITABLE.
    """
    if load_word(array + _TYPE, 0) != ndarray_type or load_word(array + _DTYPE, 0) != dtype:
        return 0
    if load_int(array + _FLAGS) & flags != flags:
        return 0
    size = 1
    dims = load_word(array + _DIMS, 0)
    for axis in range(load_int(array + _NUM_DIMS)):
        size *= load_word(dims, axis)
    return load_word(array + _DATA, 0) if size >= num_elements else 0


@intrinsic
def _is_subtype(typing_context: Any, kind: Any, of: Any) -> Any:
    """Whether a type, given by address, derives from another; not 0 where it does."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = context.get_python_api(builder).pyobj
        function_type = ir.FunctionType(ir.IntType(32), [pointer, pointer])
        function = cgutils.get_or_insert_function(builder.module, function_type, "PyType_IsSubtype")
        return builder.call(function, [builder.inttoptr(address, pointer) for address in args])

    return types.int32(types.int64, types.int64), generate


@jit
def are_dims(dims, state):  # type: ignore[no-untyped-def]
    """Whether an object that is equal to the dims (or strides) of a plan is such dims: None, or a tuple of ints.

    (2.0, 3) is equal to (2, 3), finds its plan, and is none.
    """
    if dims == load_word(state, NONE):
        return True
    kind = load_word(dims + _TYPE, 0)
    if kind != load_word(state, TUPLE_TYPE) and _is_subtype(kind, load_word(state, TUPLE_TYPE)) == 0:
        return False
    int_type = load_word(state, INT_TYPE)
    for axis in range(load_word(dims + _LENGTH, 0)):
        if load_word(load_word(dims + _ITEMS, axis) + _TYPE, 0) != int_type:
            return False
    return True


def _check_layout() -> None:
    """Read an array the way compiled code does, so that another ABI fails here and not in a kernel."""
    array = np.zeros((2, 3), np.float32)

    def word_at(offset: int, kind: Any = ctypes.c_int64, of: Any = array) -> int:
        return int(kind.from_address(id(of) + offset).value)

    found = (word_at(_TYPE), word_at(_DATA), word_at(_NUM_DIMS, ctypes.c_int), word_at(_DTYPE))
    flags = word_at(_FLAGS, ctypes.c_int) & WRITABLE
    dims = ctypes.c_int64.from_address(word_at(_DIMS) + 8).value
    numbers = tuple(map(float, range(3)))
    items = word_at(_TYPE, of=numbers), word_at(_LENGTH, of=numbers), word_at(_ITEMS + 8, of=numbers)
    if (*found, flags, dims, *items) != (
        *(id(np.ndarray), array.ctypes.data, 2, id(array.dtype), WRITABLE, 3),
        *(id(tuple), 3, id(numbers[1])),
    ):
        raise RuntimeError("this build of Python or NumPy lays out arrays or tuples in a way that ep does not know")


_check_layout()
