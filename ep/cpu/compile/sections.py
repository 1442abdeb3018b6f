"""The blocks and the variables of a function that is written from its syntax tree."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils


class Sections:
    """The sections of a function: what is between two jumps of its source. Instructions may split one into blocks.

    A variable is in memory, which LLVM replaces by registers.
    """

    def __init__(self, function: Any) -> None:
        """Begin with the first section."""
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._reached = set[Any]()

    @property
    def is_ended(self) -> bool:
        """Whether the section has its jump."""
        ended: bool = self.builder.block.is_terminated
        return ended

    def blocks(self, *names: str) -> list[Any]:
        """Return new blocks, with which sections begin."""
        return [self.builder.append_basic_block(name) for name in names]

    def start(self, block: Any) -> None:
        """Begin a section."""
        self.builder.position_at_end(block)

    def go(self, block: Any, mark: Any = None) -> None:
        """End the section, unless it has ended, with a jump to another one. mark: the metadata of the jump."""
        if not self.is_ended:
            jump = self.builder.branch(block)
            if mark is not None:
                jump.set_metadata("llvm.loop", mark)
            self._reached.add(block)

    def fork(self, condition: Any, then: Any, otherwise: Any, mark: Any = None) -> None:
        """End the section with a jump to one of two. mark: the metadata of the jump."""
        jump = self.builder.cbranch(condition, then, otherwise)
        if mark is not None:
            jump.set_metadata("llvm.loop", mark)
        self._reached |= {then, otherwise}

    def start_if_reached(self, block: Any) -> bool:
        """Begin a section to which others jump, or else remove its block; return whether it has begun."""
        reached = block in self._reached
        if reached:
            self.start(block)
        else:
            block.function.blocks.remove(block)
        return reached

    def variable(self, kind: Any) -> Any:
        """Return the place of a new variable of an LLVM type."""
        return cgutils.alloca_once(self.builder, kind)

    def assign(self, place: Any, value: Any) -> None:
        """Assign a value to a variable."""
        self.builder.store(value, place)

    def read(self, place: Any) -> Any:
        """Return the value of a variable."""
        return self.builder.load(place)
