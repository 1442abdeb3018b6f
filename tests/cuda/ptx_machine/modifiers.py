"""The modifiers of an instruction: `.rn.ftz.f32`. Each emitter takes those that it knows; the rest is an error."""

from __future__ import annotations

from tests.cuda.ptx_machine.types import TYPES, PtxType


class Modifiers:
    """The modifiers of an instruction that have not been taken yet."""

    def __init__(self, modifiers: tuple[str, ...]) -> None:
        self.left = list(modifiers)

    def type(self) -> PtxType:
        """Take the last modifier and return it as a type; ValueError if it is not a type."""
        name = self.left.pop()
        if name not in TYPES:
            raise ValueError(name)
        return TYPES[name]

    def take(self, *options: str, default: str = "") -> str:
        """Take the first of `options` that is present; return `default` if there is none."""
        for option in options:
            if option in self.left:
                self.left.remove(option)
                return option
        return default

    def flag(self, name: str) -> bool:
        """Take a modifier, and return whether it was present."""
        return bool(self.take(name))
