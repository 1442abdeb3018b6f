"""Python's operators on arrays: one class for all arrays that have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from ep.common.arrays.checks import NUMBERS, is_weak
from ep.common.arrays.indexing import reshaped, selected
from ep.common.arrays.numpy_functions import FUNCTIONS as FUNCTIONS
from ep.common.arrays.numpy_functions import of_function, of_ufunc
from ep.common.checks import are_several
from ep.include.array_types import DeviceArray
from ep.include.arrays import Placed
from ep.include.data_type import as_data_type

_OPERANDS: Final = Placed, list, tuple
_EXPORTS: Final = "__dlpack__", "__cuda_array_interface__", "__array__"

_WITH_CORRECTION: Final = "var", "std"  # which NumPy calls ddof


class Operators(DeviceArray):
    """An array with the operators of the array API standard, and the methods of NumPy's arrays, which call `ep.ops`.

    A class needs `shape`, `dtype` and `size`. The other operand is an array of the same dtype, or a number. For other
    values Python tries the other operand's own operator, and then raises TypeError. Comparisons are elementwise, so
    such an array has no hash. NumPy's functions call those of `ep.ops`.
    """

    __slots__ = ()
    _internal: ClassVar[frozenset[str]] = frozenset()
    """The attributes that the package alone uses, which `dir` leaves out."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return of_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return of_function(function, args, kwargs)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """A new array with the axes in reverse."""
        return FUNCTIONS["transpose"](self)

    @property
    def mT(self) -> Any:
        """A new array with the last two axes exchanged, as `ep.ops.matrix_transpose`."""
        return FUNCTIONS["matrix_transpose"](self)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def transpose(self, *axes: Any) -> Any:
        """Return a new array with the axes in another order, given one by one or as a sequence, else in reverse."""
        several = axes[0] if len(axes) == 1 and (axes[0] is None or are_several(axes[0])) else axes or None
        return FUNCTIONS["transpose"](self, several)

    def squeeze(self, axis: Any = None) -> Any:
        """Return a new array without axes of size 1, as `ep.ops.squeeze`."""
        return FUNCTIONS["squeeze"](self, axis)

    def reshape(self, *shape: Any) -> Any:
        """Return a new array of the elements in another shape, one size of which may be -1, as `ep.ops.reshape`."""
        return FUNCTIONS["reshape"](self, reshaped(self, shape))

    def astype(self, dtype: Any, *, copy: bool = True) -> Any:
        """Return a new array of the elements in another dtype, as `ep.ops.cast`; with copy=False, as NumPy, the array
        itself if it has this dtype."""
        if not copy and as_data_type(dtype, "dtype").dtype == self.dtype:
            return self
        return FUNCTIONS["cast"](self, dtype)

    def __getitem__(self, index: Any) -> Any:
        """Return a new array of the elements that integers, slices, None and ... select."""
        return selected(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        """Refuse an implicit copy to the host."""
        raise TypeError(f"{type(self).__qualname__} is no truth value: ep.ops.copy_to_host copies it to the host")

    def __float__(self) -> float:
        """Refuse an implicit copy to the host."""
        raise TypeError(f"{type(self).__qualname__} is no number: ep.ops.copy_to_host copies it to the host")

    __int__: Any = __float__
    __complex__: Any = __float__

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse an implicit copy to the host."""
        raise TypeError(f"{type(self).__qualname__} is not copied to the host silently; ep.ops.copy_to_host does it")

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("an array without axes is not iterable")
        return (self[position] for position in range(self.shape[0]))

    def _whole(self) -> Any:
        """Return the array that an index of all elements gives."""
        return FUNCTIONS["identity"](self)

    def __dir__(self) -> list[str]:
        names = [name for name in super().__dir__() if name.startswith("__") or not name.startswith("_")]
        return [name for name in names if name not in self._internal]

    @staticmethod
    def _takes(value: Any) -> bool:
        """Return whether a value can be an operand: a number, an array of any library, or a list or tuple."""
        if type(value) in NUMBERS or isinstance(value, _OPERANDS):
            return True
        return is_weak(value) or any(hasattr(value, one) for one in _EXPORTS)

    def _reduced(self, name: str, axis: Any, keepdims: bool, options: dict[str, Any]) -> Any:
        if "ddof" in options and name in _WITH_CORRECTION:
            options["correction"] = options.pop("ddof")
        return FUNCTIONS[name](self, axis, keepdims=keepdims, **options)

    def _call(self, name: str, *operands: Any) -> Any:
        """Return the result of a function, of which the array is an operand."""
        return FUNCTIONS[name](*operands)

    def _updated(self, name: str, other: Any) -> Any:
        """Return the result of an in-place operator: a new array, since the array itself is immutable."""
        return self._call(name, self, other)
