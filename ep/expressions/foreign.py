"""The steps of a program of which another device has arrays: what it computes, and copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ep.common.arrays.on_device import copied_from_host, on_device
from ep.common.lazy import lazy
from ep.include.arrays import Array, Arrays


class ForeignStep:
    """A step of a trace in the place of an operator: not all of its arrays are on the device of the program.

    name: for users. reasons: why the device does not do it. reads_here: whether it reads arrays of this device;
    otherwise those of the other one. holds: as for `BoundedCache`.
    """

    joins = None
    reads_here = False
    reasons: Sequence[Any] = ()
    holds: Mapping[Any, int] = MappingProxyType({})

    def __init__(self, name: str) -> None:
        self.name = self.__qualname__ = name

    def __call__(self, arrays: Arrays, operands: Sequence[Array]) -> Sequence[Array]:
        """Return the results; arrays: those of the program's device."""
        raise NotImplementedError

    def calls(self) -> Iterator[tuple[Any, Sequence[Any]]]:
        """Yield the calls of operators, as `Program.calls` does."""
        return iter(())


class _Coming:
    """An array of another device that is being copied to this one, by way of the host. array: waits for it."""

    def __init__(self, wait: Callable[[], Any], target: Arrays) -> None:
        """wait: returns the copy on the host."""
        self._wait, self._target = wait, target

    @lazy
    def array(self) -> Array:
        return on_device(self._target, self._wait())


class Transfer(ForeignStep):
    """The copy of an array between the device of a program and the other one. A copy to the other device is queued, and
    the subgraph that reads it waits for it. A copy back returns an array of the program's device."""

    def __init__(self, source: Arrays, target: Arrays, *, reads_here: bool) -> None:
        super().__init__(f"copy to {target.place}")
        self._source, self._target, self.reads_here = source, target, reads_here

    def __call__(self, arrays: Arrays, operands: Sequence[Array]) -> Sequence[Any]:
        (one,), source = operands, self._source
        if self.reads_here:
            return [_Coming(source.begin_copy_to_host(one), self._target)]
        return [copied_from_host(self._target, one if source.takes_host_arrays else source.copy_to_host(one))]


class Subgraph(ForeignStep):
    """Operators that the other device computes, once all is queued that the first one can compute before."""

    def __init__(self, base: Arrays, runner: Any, reasons: Sequence[Any]) -> None:
        """runner: the `Runner` of their program, on that device. reasons: what the first device lacks."""
        super().__init__(f"computed on {base.place}")
        self._base, self._runner, self.reasons, self.holds = base, runner, reasons, runner.holds

    def __call__(self, arrays: Arrays, operands: Sequence[Array]) -> Sequence[Array]:
        given = [one.array if isinstance(one, _Coming) else one for one in operands]
        return [self._base.as_buffer(one, "array") for one in self._runner.computed(self._base, given)]

    def calls(self) -> Iterator[tuple[Any, Sequence[Any]]]:
        """Yield the calls of operators, as `Program.calls` does."""
        yield from self._runner.program.calls()

    def explain(self) -> str:
        """Return the explanation of the program."""
        num_bytes, text = sum(self.holds.values()), str(self._runner.program.explain({}))
        return f"constants: {num_bytes} bytes\n{text}" if num_bytes else text
