"""The types of arrays, for checkers of types: what functions of users and operators accept and return.

The operators of Python on arrays of devices are here, once: their names, their types, and what they call.
Inside the package, arrays of devices are not distinguished (`ep.include.arrays`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
_Binary = Callable[[Any, Any], "DeviceArray"]
_DOCSTRING: Final = "Return the result of `ep.ops.{}`; its docstring and docs/semantics.md have the rules."


def _forward(name: str) -> _Binary:
    def operator(self: Any, other: Any) -> Any:
        return self._call(name, self, other) if type(other) is type(self) or self._takes(other) else NotImplemented

    operator.__doc__ = _DOCSTRING.format(name)
    return operator


def _forms(name: str) -> tuple[_Binary, _Binary, _Binary]:
    """Return the three forms of an arithmetic operator: forward, with the operands exchanged, and in place."""

    def reflected(self: Any, other: Any) -> Any:
        return self._call(name, other, self) if self._takes(other) else NotImplemented

    def in_place(self: Any, other: Any) -> Any:
        return self._updated(name, other) if self._takes(other) else NotImplemented

    reflected.__doc__ = in_place.__doc__ = _DOCSTRING.format(name)
    return _forward(name), reflected, in_place


def _unary(name: str) -> Callable[[Any], DeviceArray]:
    def operator(self: Any) -> Any:
        return self._call(name, self)

    operator.__doc__ = _DOCSTRING.format(name)
    return operator


def _with_names(form: F) -> Callable[[str], F]:
    """Decorator: return the function that makes methods of this form, each of which calls `ep.ops` by its name."""

    def make(name: str) -> Any:
        def reduction(self: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
            return self._reduced(name, axis, keepdims, options)

        reduction.__name__, reduction.__doc__ = name, f"As `ep.ops.{name}`."
        return reduction

    return make


@_with_names
def _reduction(self: Any, axis: Any = None, keepdims: bool = False) -> DeviceArray:
    raise NotImplementedError


class DeviceArray:
    """An array of a device, or one that is not computed yet: the argument of a fused function.

    Its operators and reductions are those of `ep.ops` by these names, which each class of arrays calls.
    """

    __slots__ = ()

    __add__, __radd__, __iadd__ = _forms("add")
    __sub__, __rsub__, __isub__ = _forms("sub")
    __mul__, __rmul__, __imul__ = _forms("mul")
    __truediv__, __rtruediv__, __itruediv__ = _forms("true_divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _forms("floor_div")
    __mod__, __rmod__, __imod__ = _forms("floor_mod")
    __pow__, __rpow__, __ipow__ = _forms("pow")
    __matmul__, __rmatmul__, __imatmul__ = _forms("matmul")
    __and__, __rand__, __iand__ = _forms("bitwise_and")
    __or__, __ror__, __ior__ = _forms("bitwise_or")
    __xor__, __rxor__, __ixor__ = _forms("bitwise_xor")

    __lt__, __le__ = _forward("less_than"), _forward("less_equal")
    __gt__, __ge__ = _forward("greater_than"), _forward("greater_equal")
    __eq__: Any = _forward("equal")
    __ne__: Any = _forward("not_equal")
    __hash__ = None  # type: ignore[assignment]

    __abs__, __neg__ = _unary("abs"), _unary("negative")
    __pos__, __invert__ = _unary("identity"), _unary("bitwise_not")

    sum, mean, prod = _reduction("sum"), _reduction("mean"), _reduction("prod")
    max, min = _reduction("max"), _reduction("min")
    any, all = _reduction("any"), _reduction("all")
    var, std = _reduction("var"), _reduction("std")

    if TYPE_CHECKING:  # what each class of arrays has; checkers take long to compare a Protocol with ndarrays

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def dtype(self) -> np.dtype[Any]: ...

        @property
        def ndim(self) -> int: ...

        @property
        def size(self) -> int: ...

        @property
        def nbytes(self) -> int: ...

        @property
        def T(self) -> DeviceArray: ...

        @property
        def mT(self) -> DeviceArray: ...

        def transpose(self, *axes: Any) -> DeviceArray: ...

        def squeeze(self, axis: Any = None) -> DeviceArray: ...

        def reshape(self, *shape: Any) -> DeviceArray: ...

        def astype(self, dtype: Any, /, *, copy: bool = True) -> DeviceArray: ...

        def __getitem__(self, index: Any, /) -> DeviceArray: ...

        def __len__(self) -> int: ...


HostArray: TypeAlias = np.ndarray[Any, Any]

Array: TypeAlias = HostArray | DeviceArray
"""An array, as operators return it: an ndarray on the CPU."""


class _Shaped(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...


class _DLPack(Protocol):
    @property
    def __dlpack__(self) -> Callable[..., Any]: ...


class _CudaArrayInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


class _NumPyArray(Protocol):
    @property
    def __array__(self) -> Callable[..., Any]: ...


HostArrayLike: TypeAlias = HostArray | np.generic | complex | list[Any] | tuple[Any, ...]
"""What NumPy has, or makes an array of: if all operands are such, results are ndarrays."""

ArrayLike: TypeAlias = HostArrayLike | _Shaped | _DLPack | _CudaArrayInterface | _NumPyArray
"""What operators accept as an array: also arrays of other libraries, and tensors on a mesh."""
