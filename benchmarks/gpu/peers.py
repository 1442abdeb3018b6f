"""The other libraries for GPUs, each behind an adapter, on the same memory and stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

from ep.bench.case import Case

Call = Callable[[], object]


@dataclass(frozen=True)
class Operand:
    """A buffer on the device, and the dims of the array in it."""

    buffer: Any
    dims: tuple[int, ...]


class Peer(Protocol):
    """An adapter. Its calls queue their work on the stream that it was made for."""

    name: str
    version: str

    def array(self, operand: Operand) -> Any:
        """Return the library's array on the operand's memory."""

    def prepare(self, case: Case, inputs: Sequence[Operand], out: Operand) -> Mapping[str, Call]:
        """Return the library's functions that compute a case into `out`, by name; empty if it has none."""


_ADAPTERS: Final = {"torch": "torch_", "cupy": "cupy_"}


def installed(wanted: Sequence[str], stream: Any) -> tuple[list[Peer], dict[str, str]]:
    """Return the wanted libraries that work on this machine, and the errors of the others."""
    peers: list[Peer] = []
    absent: dict[str, str] = {}
    for name in _ADAPTERS:
        if name not in wanted:
            absent[name] = "not asked for"
        elif find_spec(name) is None:
            absent[name] = "not installed"
        else:
            try:
                peers.append(import_module(f"benchmarks.gpu.{_ADAPTERS[name]}").Adapter(stream))
            except Exception as error:  # such as a build without CUDA, or a missing library
                absent[name] = f"{type(error).__name__}: {error}"
    return peers, absent
