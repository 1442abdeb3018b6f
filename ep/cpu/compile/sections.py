"""The blocks and the variables of a function that is written from its syntax tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils

NONE_LOCAL: Final[frozenset[int]] = frozenset()


class Sections:
    """The sections of a function: what is between two jumps of its source. Instructions may split one into blocks.

    A variable is in memory, which LLVM replaces by registers. But a product and a sum are fused before that, if they
    are in one function of Numba's: there, a value that is read only in the section that assigns it is not in memory.
    """

    def __init__(self, function: Any, local: frozenset[int] = NONE_LOCAL) -> None:
        """Begin with the first section. local: the assigned values that are not in memory, by number."""
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._section, self._local, self._number = self.builder.block, local, 0
        self._values: dict[Any, Any] = {}  # those of this section that are not in memory
        self._following: dict[Any, set[Any]] = defaultdict(set)
        self._uses: dict[Any, list[tuple[Any, int | None]]] = defaultdict(list)  # with the number of an assignment

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
        self._section = block
        self._values.clear()

    def go(self, block: Any, mark: Any = None) -> None:
        """End the section, unless it has ended, with a jump to another one. mark: the metadata of the jump."""
        if not self.is_ended:
            jump = self.builder.branch(block)
            if mark is not None:
                jump.set_metadata("llvm.loop", mark)
            self._following[self._section].add(block)

    def go_on(self) -> None:
        """Begin another section here."""
        (following,) = self.blocks("following")
        self.go(following)
        self.start(following)

    def fork(self, condition: Any, then: Any, otherwise: Any) -> None:
        """End the section with a jump to one of two."""
        self.builder.cbranch(condition, then, otherwise)
        self._following[self._section] |= {then, otherwise}

    def start_if_reached(self, block: Any) -> bool:
        """Begin a section to which others jump, or else remove its block; return whether it has begun."""
        reached = any(block in blocks for blocks in self._following.values())
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
        self._uses[self._section].append((place, self._number))
        if self._number in self._local:
            self._values[place] = value
        else:
            self._values.pop(place, None)
            self.builder.store(value, place)
        self._number += 1

    def read(self, place: Any) -> Any:
        """Return the value of a variable."""
        self._uses[self._section].append((place, None))
        return self._values[place] if place in self._values else self.builder.load(place)

    def local(self) -> frozenset[int]:
        """Return the numbers of the assigned values that are read only in the section that assigns them."""
        live, found = self._live_behind(), set[int]()
        for section, uses in self._uses.items():
            last = {place: number for place, number in uses if number is not None}
            stay = {number for place, number in last.items() if place in live[section]}
            found |= {number for _, number in uses if number is not None and number not in stay}
        return frozenset(found)

    def _live_behind(self) -> dict[Any, set[Any]]:
        """Return the variables that other sections read, or this one again, for the end of each section."""
        reads = {section: set(_read_first(uses)) for section, uses in self._uses.items()}
        assigned = {
            section: {place for place, number in uses if number is not None} for section, uses in self._uses.items()
        }
        live, changed = defaultdict[Any, set[Any]](set), True
        while changed:
            changed = False
            for section, following in self._following.items():
                found = set[Any]()
                for one in following:
                    found |= reads.get(one, set()) | (live[one] - assigned.get(one, set()))
                if found != live[section]:
                    live[section], changed = found, True
        return live


def _read_first(uses: Iterable[tuple[Any, int | None]]) -> Iterable[Any]:
    """Yield the variables that a section reads before it assigns them."""
    assigned = set[Any]()
    for place, number in uses:
        if number is not None:
            assigned.add(place)
        elif place not in assigned:
            yield place
