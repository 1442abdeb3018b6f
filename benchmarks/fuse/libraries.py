"""The libraries that compute expressions, each with the functions that these call, by their names in `ep.ops`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Final

import ml_dtypes
import numpy as np

import ep
import ep.ops
from benchmarks.fuse.expressions import Arrays, Expression

Call = Callable[[], Any]
"""Computes the results anew at each call, and returns when they are complete."""

Library = Callable[[Expression, Arrays], Call | None]
"""(an expression, its arrays) -> the call that computes it; None if the library cannot."""

_BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)


def libraries(names: Sequence[str], threads: int) -> dict[str, Library]:
    """Return `ep`, its operators one by one, and the installed peers; PyTorch both compiled and not."""
    found: dict[str, Library] = {"ep": _ep, "ep.ops": _one_by_one}
    if "numpy" in names:
        found["numpy"] = _numpy
    if "numexpr" in names and find_spec("numexpr"):
        found["numexpr"] = _numexpr(threads)
    if "jax" in names and find_spec("jax"):
        found["jax"] = _jax()
    if "torch" in names and find_spec("torch"):
        found |= _torch(threads)
    return found


def _ep(expression: Expression, arrays: Arrays) -> Call:
    fused = ep.fuse(lambda *given: expression.function(ep.ops, *given))
    return lambda: fused(*arrays)


class _Operators:
    """An array of NumPy's whose operators are those of `ep.ops`, one launch each."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, index: Any) -> _Operators:
        return _Operators(self.array[index])

    def __neg__(self) -> _Operators:
        return _Operators(ep.ops.negative(self.array))


def _operator(name: str, swapped: bool) -> Callable[[Any, Any], _Operators]:
    function = getattr(ep.ops, name)

    def operator(self: _Operators, other: Any) -> _Operators:
        value = other.array if isinstance(other, _Operators) else other
        return _Operators(function(value, self.array) if swapped else function(self.array, value))

    return operator


for _sign, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    setattr(_Operators, f"__{_sign}__", _operator(_name, swapped=False))
    setattr(_Operators, f"__r{_sign}__", _operator(_name, swapped=True))


class _OneByOne:
    """The functions of `ep.ops` for arrays of `_Operators`."""

    def __getattr__(self, name: str) -> Callable[..., _Operators]:
        function = getattr(ep.ops, name)

        def on_arrays(*given: Any, **options: Any) -> _Operators:
            return _Operators(
                function(*(one.array if isinstance(one, _Operators) else one for one in given), **options)
            )

        self.__dict__[name] = on_arrays
        return on_arrays


_ONE_BY_ONE: Final = _OneByOne()


def _one_by_one(expression: Expression, arrays: Arrays) -> Call:
    given = [_Operators(array) for array in arrays]

    def call() -> Any:
        results = expression.function(_ONE_BY_ONE, *given)
        return tuple(one.array for one in results) if isinstance(results, tuple) else results.array

    return call


_NUMPY: Final = SimpleNamespace(
    mean=np.mean,
    sum=np.sum,
    sqrt=np.sqrt,
    rsqrt=lambda x: 1 / np.sqrt(x),
    maximum=np.maximum,
    where=np.where,
    silu=lambda x: x / (1 + np.exp(-x)),
    cast=lambda x, dtype: x.astype(dtype),
    softmax=lambda x, axis: (lambda e: e / e.sum(axis, keepdims=True))(np.exp(x - x.max(axis, keepdims=True))),
    log_softmax=lambda x, axis: (lambda d: d - np.log(np.exp(d).sum(axis, keepdims=True)))(
        x - x.max(axis, keepdims=True)
    ),
    gather=lambda x, indices, axis, batch_dims: np.take_along_axis(x, indices, axis),
)


def _numpy(expression: Expression, arrays: Arrays) -> Call | None:
    if any(array.dtype == _BFLOAT16 for array in arrays):
        return None
    try:
        expression.function(_NUMPY, *arrays)
    except AttributeError:  # gelu and erfc
        return None
    return lambda: expression.function(_NUMPY, *arrays)


_NUMBER: Final = re.compile(r"[0-9]+[.][0-9]+")


def _numbers_in(formulas: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(number for formula in formulas for number in _NUMBER.findall(formula)))


def _numexpr(threads: int) -> Library:
    import numexpr

    numexpr.set_num_threads(threads)

    def library(expression: Expression, arrays: Arrays) -> Call | None:
        if not expression.formulas or any(array.dtype == _BFLOAT16 for array in arrays):
            return None
        given = dict(zip("abcde", arrays, strict=False))
        # as arrays of one element: numbers in a formula are float64, and so are results computed with them
        numbers = {number: f"n{place}" for place, number in enumerate(_numbers_in(expression.formulas))}
        given |= {name: np.asarray(number, arrays[0].dtype) for number, name in numbers.items()}
        formulas = [_NUMBER.sub(lambda found: numbers[found[0]], formula) for formula in expression.formulas]

        def call() -> Any:
            results = tuple([numexpr.evaluate(formula, given) for formula in formulas])
            return results if len(results) > 1 else results[0]

        return call

    return library


def _jax() -> Library:
    import jax
    import jax.numpy as jnp

    ops = SimpleNamespace(
        **{name: getattr(jnp, name) for name in ("mean", "sum", "sqrt", "maximum", "where", "log", "exp")},
        rsqrt=jax.lax.rsqrt,
        gelu=lambda x: jax.nn.gelu(x, approximate=False),
        silu=jax.nn.silu,
        erfc=jax.scipy.special.erfc,
        softmax=jax.nn.softmax,
        log_softmax=jax.nn.log_softmax,
        cast=lambda x, dtype: x.astype(dtype),
        gather=lambda x, indices, axis, batch_dims: jnp.take_along_axis(x, indices, axis),
    )

    def library(expression: Expression, arrays: Arrays) -> Call:
        compiled = jax.jit(lambda *given: expression.function(ops, *given))
        given = [jnp.asarray(array) for array in arrays]
        return lambda: jax.block_until_ready(compiled(*given))

    return library


def _torch(threads: int) -> dict[str, Library]:
    import torch

    torch.set_num_threads(threads)
    functional = torch.nn.functional
    ops = SimpleNamespace(
        **{name: getattr(torch, name) for name in ("sqrt", "rsqrt", "maximum", "where", "log", "exp", "erfc")},
        mean=lambda x, axis, keepdims=False: torch.mean(x) if axis is None else torch.mean(x, axis, keepdim=keepdims),
        sum=lambda x, axis, keepdims=False: torch.sum(x, axis, keepdim=keepdims),
        gelu=functional.gelu,
        silu=functional.silu,
        softmax=torch.softmax,
        log_softmax=torch.log_softmax,
        cast=lambda x, dtype: x.to(getattr(torch, dtype)),
        gather=lambda x, indices, axis, batch_dims: torch.gather(x, axis, indices),
    )

    def of(array: np.ndarray[Any, Any]) -> Any:
        if array.dtype == _BFLOAT16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    def eager(expression: Expression, arrays: Arrays) -> Call:
        given = [of(array) for array in arrays]
        return lambda: expression.function(ops, *given)

    def compiled(expression: Expression, arrays: Arrays) -> Call:
        given = [of(array) for array in arrays]
        torch.compiler.reset()  # each size is compiled for itself, and the versions of a function are limited
        function = torch.compile(lambda *arrays: expression.function(ops, *arrays), dynamic=False)
        return lambda: function(*given)

    return {"torch": eager, "torch.compile": compiled}
