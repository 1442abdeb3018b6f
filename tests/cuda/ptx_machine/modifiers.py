"""What follows an instruction's name: `.rn.ftz.f32`. Each emitter takes what it knows; what is left is an error."""

from __future__ import annotations

from tests.cuda.ptx_machine.types import TYPES, PtxType


class Modifiers:
    """The modifiers of an instruction that were not taken yet."""

    def __init__(self, modifiers: tuple[str, ...]) -> None:
        self.left = list(modifiers)

    def type(self) -> PtxType:
        """Take the last one, which is a type; ValueError where it is none."""
        name = self.left.pop()
        if name not in TYPES:
            raise ValueError(name)
        return TYPES[name]

    def take(self, *options: str, default: str = "") -> str:
        """Take the first of `options` that is there; `default` where none is."""
        for option in options:
            if option in self.left:
                self.left.remove(option)
                return option
        return default

    def flag(self, name: str) -> bool:
        """Take a modifier; whether it was there."""
        return bool(self.take(name))
