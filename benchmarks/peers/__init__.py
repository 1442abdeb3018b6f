"""The other libraries, each behind a small adapter.

An adapter computes a case in the fastest public way of its library, or reports that there is none. All adapters read
the same inputs and write to the same preallocated result, as far as the library allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol

from ep.bench.case import Array, Arrays, Case


@dataclass(frozen=True)
class Contender:
    """One library, ready to compute one case.

    call: returns when the work is done.
    result: returns the computed result.
    keeps: arrays of which `call` has only the addresses.
    """

    call: Callable[[], object]
    result: Callable[[], Array]
    keeps: Arrays = ()


class Peer(Protocol):
    """An adapter. `note`: a difference from the other adapters."""

    name: str
    version: str
    note: str

    def prepare(self, case: Case, inputs: Arrays, out: Array) -> Contender | None:
        """Make everything ready for a call; None if the library cannot do this case."""


_ADAPTERS: Final = {
    "numpy": "numpy_",
    "torch": "torch_",
    "numexpr": "numexpr_",
    "jax": "jax_",
    "onnxruntime": "onnxruntime_",
}
NAMES: Final = tuple(_ADAPTERS)


def installed_peers(threads: int, wanted: Sequence[str] = NAMES) -> list[Peer]:
    """Return the adapters of the wanted libraries that are installed, each set to this many threads."""
    present = [name for name in NAMES if name in wanted and find_spec(name) is not None]
    return [import_module(f"benchmarks.peers.{_ADAPTERS[name]}").Adapter(threads) for name in present]
