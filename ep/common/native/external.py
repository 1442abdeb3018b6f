"""C functions that compiled code calls by name."""

from __future__ import annotations

from typing import Any

from ep.common.deferred import Deferred
from ep.common.native.emitted import numba_type
from ep.common.native.on_demand import types


class External(Deferred):
    """A C function that compiled functions call like any other."""

    def __init__(self, symbol: str, result: str, *arguments: str) -> None:
        """result, arguments: the names of types of Numba's."""
        super().__init__((symbol, result, arguments), _typed)
        self.symbol = symbol

    @property
    def _numba_type_(self) -> Any:
        return self.compiled


def _typed(of: tuple[str, str, tuple[str, ...]]) -> Any:
    symbol, result, arguments = of
    return types.ExternalFunction(symbol, numba_type(result)(*map(numba_type, arguments)))
