"""What a record of an operator is made of: the cases that it draws, and the results that it expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

NDArray = np.ndarray[Any, Any]
SIZES = (1, 2, 3, 3, 5, 7)
WILD = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan)
RANKS = (0, 1, 2, 2, 3, 4)


class Refused(ValueError):
    """Raised by a reference for contradictory inputs: the error of the model must have one of its words."""


class Output(NamedTuple):
    """An expected result. dtype: where the types of the inputs do not tell it. magnitude: what rounding errors are
    relative to, such as the sum of absolute values of a sum; the result itself if it is None."""

    value: Any
    dtype: Any = None
    magnitude: Any = None


@dataclass(frozen=True)
class Record:
    """An operator.

    draw: takes a `Draw` and returns the inputs, None for omitted ones, and the attributes, None for omitted ones.
    reference: takes the `Draw`, the inputs, floating-point ones as float64, and the attributes by name, with ONNX's
        defaults. It returns the result, or a tuple of results, arrays or `Output`. It raises `Refused` for inputs that
        contradict each other.
    ulps: how many units in the last place results may differ.
    constants: the numbers of inputs that are sizes, axes and the like: they are mostly constants of the model.
    known: the numbers of those that are always constants: the package refuses a model in which they are not.
    finite: the numbers of those that are finite, since infinities and NaN may take part in other results, too.
    all_outputs: whether a node has all of its outputs: their number has a meaning.
    types: the names of the dtypes that are drawn, for an operator whose text has narrower ones than its schema.
    """

    name: str
    draw: Callable[[Draw], tuple[Sequence[Any], dict[str, Any]]]
    reference: Callable[..., Any]
    ulps: float = 4
    constants: tuple[int, ...] = ()
    known: tuple[int, ...] = ()
    finite: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    all_outputs: bool = False


class Draw:
    """Random choices for the cases of one version and one type of an operator.

    Each choice has a name, and takes all of its values in turn, in random order: so a few cases have each value.
    """

    def __init__(self, rng: np.random.Generator, since: int, dtype: Any, types: dict[str, list[Any]]) -> None:
        """since: the version of the operator. dtype: of its first input. types: the dtypes of each of its type
        parameters."""
        self.drawn: Sequence[Any] = ()  # the inputs of the last case, in their own types
        self.rng, self.since, self.dtype, self.types = rng, since, np.dtype(dtype), types
        self._left: dict[str, list[Any]] = {}

    def pick(self, name: str, values: Sequence[Any]) -> Any:
        """Return one of some values."""
        left = self._left.get(name)
        if not left:
            left = self._left[name] = [values[k] for k in self.rng.permutation(len(values))]
        value = left.pop()
        return value if any(value is one for one in values) else self.pick(name, values)

    def maybe(self, name: str) -> bool:
        """Return True or False."""
        return bool(self.pick(f"maybe {name}", (True, False)))

    def rarely(self, name: str) -> bool:
        """Return True in one of seven cases."""
        return bool(self.pick(f"rarely {name}", (True, *[False] * 6)))

    def shape(self, least: int = 0, most: int = 4, empty: bool = True) -> tuple[int, ...]:
        """Return sizes of `least` to `most` axes; now and then one is 0, if `empty`."""
        rank = self.pick(f"rank {least} {most}", [one for one in RANKS if least <= one <= most] or [least])
        sizes = [int(self.rng.choice(SIZES)) for _ in range(rank)]
        if sizes and empty and self.rarely("an axis of no elements"):
            sizes[int(self.rng.integers(rank))] = 0
        return tuple(sizes)

    def narrowed(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return a shape that broadcasts to another one."""
        kept = shape[int(self.rng.integers(len(shape) + 1)) :] if self.maybe("fewer axes") else shape
        return tuple(1 if self.rng.random() < 0.3 else size for size in kept)

    def axis(self, rank: int, name: str = "axis") -> int:
        """Return an axis, counted from the first or from the last one."""
        axis = int(self.rng.integers(max(rank, 1)))
        return axis - rank if self.maybe(f"negative {name}") else axis

    def array(self, shape: Sequence[int], dtype: Any = None, low: float | None = None, wild: bool = True) -> NDArray:
        """Return random numbers: small ones, of both signs unless there is a `low`, and now and then the extremes of
        the type, infinities and NaN, if `wild`."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.5
        if dtype.kind == "c":
            return (self.array(shape, np.float32, wild=False) + 1j * self.array(shape, np.float32)).astype(dtype)
        kind = self.pick("numbers", ("small", "small", "few", "wild") if wild else ("small", "small", "few"))
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            least, most = max(info.min, -9 if low is None else int(low)), 9
            numbers = self.rng.integers(least, most + 1, shape).astype(dtype)
            extremes = [info.min if low is None else least, info.max, info.max - 1]
            return self._mixed(numbers, extremes, dtype) if kind == "wild" else numbers
        numbers = self.rng.standard_normal(shape) * (1 if kind == "few" else 3)
        if kind == "few":
            numbers = np.round(numbers)
        numbers = numbers if low is None else np.abs(numbers) + low
        info = ml_dtypes.finfo(dtype)
        extremes = [*WILD, float(info.max), -float(info.max), float(info.tiny), float(info.smallest_subnormal)]
        extremes = [one for one in extremes if low is None or not one < low]
        return self._mixed(numbers, extremes, dtype) if kind == "wild" else numbers.astype(dtype)

    def _mixed(self, numbers: NDArray, extremes: Sequence[Any], dtype: Any) -> NDArray:
        if np.dtype(dtype).kind in "iu":
            drawn = np.array([extremes[k] for k in self.rng.integers(len(extremes), size=numbers.size)], dtype)
        else:
            drawn = self.rng.choice(np.array(extremes, np.float64), numbers.size)
        return np.where(self.rng.random(numbers.shape) < 0.4, drawn.reshape(numbers.shape), numbers).astype(dtype)
