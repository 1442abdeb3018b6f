"""The registry of emitters, by instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Instruction

EMITTERS: Final[dict[str, Callable[[Any, Instruction, Modifiers], None]]] = {}
"""(translator, instruction, modifiers): takes the modifiers that it knows; ValueError for an unsupported form.
"""

MEETINGS: Final[set[str]] = set()
"""The instructions that synchronise threads."""

_BY_KIND: Final[dict[str, dict[str, Callable[..., None]]]] = {}


def instruction(*names: str, kinds: str = "", meets: bool = False) -> Callable[[Callable[..., None]], Any]:
    """Register an emitter.

    kinds: the kinds of `PtxType` that it supports; the emitter then also receives the type, which is the last modifier.
    """

    def register(emitter: Callable[..., None]) -> Callable[..., None]:
        for name in names:
            if meets:
                MEETINGS.add(name)
            if not kinds:
                EMITTERS[name] = emitter
                continue
            for kind in kinds:
                _BY_KIND.setdefault(name, {})[kind] = emitter
            EMITTERS[name] = _by_type(_BY_KIND[name])
        return emitter

    return register


def _by_type(emitters: dict[str, Callable[..., None]]) -> Callable[[Any, Instruction, Modifiers], None]:
    def emit(e: Any, i: Instruction, m: Modifiers) -> None:
        type = m.type()
        emitters[type.kind](e, i, m, type)

    return emit
