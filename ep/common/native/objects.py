"""Objects of Python and NumPy as compiled code reads them; `object_layout.py` checks that they are so in memory."""

from __future__ import annotations

from ep.common.native.fields import Fields, Int64, c_int, pointer, word, words


class Object(Fields):
    """Any object."""

    references = word()
    type = word()


class FloatObject(Object):
    """A float: struct PyFloatObject."""

    bits = word()  # of its value


class TupleObject(Object):
    """A tuple: struct PyTupleObject."""

    length = word()
    hash = words(tuple.__basicsize__ // 8 - 3)  # from Python 3.14 on
    items = words(0)  # `length` addresses


class ArrayObject(Object):
    """An array of NumPy: struct PyArrayObject_fields."""

    data = word()
    num_dims = c_int()
    dims = pointer(Int64)
    strides = pointer(Int64)
    base = word()
    dtype = word()
    flags = c_int()
