"""Loop nests: the words of loops that follow from dims, computed once and kept by the primitive for later launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct, error
from typing import Any, Final
from weakref import ref

import numpy as np

from ep.common.native.fields import records, word, words
from ep.common.native.record import ALL, Words, extended
from ep.common.primitive.signature import Signature
from ep.cpu.shared.state import ElementType, type_words
from ep.include.data_type import DataType

# functions that write 0, 1, 2 ... words in one call; assigning to an array takes one call for each word
_WRITE: Final[Sequence[Callable[..., None]]] = [Struct(f"{count}q").pack_into for count in range(65)]


@cache
def plan_record(base: Any, signature: Signature) -> Any:
    """Return the class of an engine's records, extended by the fields that the compiled check of a launch reads.

    sizes: the sizes of the signature. in_place: whether the walks of all operands are the same.
    types: for each operand, the words of its data type if Launch gives the type; unused if New gives it.
    """
    of_launch = any(operand.type_at_launch for operand in signature.operands)
    types = records(ElementType, len(signature.operands) * of_launch)
    return extended(base, sizes=words(len(signature.sizes)), in_place=word(), types=types)


def adjacent(fields: Any, *names: str) -> int:
    """Return the place of the first of several fields that `LoopNest.set_words` writes together, in this order.

    Raises ValueError if the fields are not adjacent.
    """
    first = fields.field_names.index(names[0])
    if fields.field_names[first : first + len(names)] != names:
        raise ValueError(f"{names} do not follow one another in {fields}")
    place: int = getattr(fields, names[0])
    return place


class LoopNest(Words):
    """Words of loops, which compiled code reads: sizes, strides, and what else follows from dims. It compiles nothing.

    words: a record of the class `fields`: the engine's fields, then those that the check of a launch reads.
    in_place: whether the walks of all operands are the same.
    sizes: the sizes of the signature.
    may_stream: whether launches use non-temporal stores where the calibration says so, but cannot ask for one.
    """

    may_stream: bool = False
    sizes: tuple[int, ...] = ()
    in_place: bool = False

    def __init__(self, base: Any, signature: Signature | None = None) -> None:
        """Make an empty plan.

        base: the class of the engine's records.
        signature: of the launches; None for a plan that only other plans refer to.
        """
        self.fields = base if signature is None else plan_record(base, signature)
        # what Words.__init__ does: a call of it would take longer
        self.words, self.addresses = np.zeros(self.fields.num_words, np.int64), self.fields.addresses
        ALL.add(ref(self, ALL.discard))

    @property
    def moves(self) -> Sequence[Any]:
        """The plans of the move engine that launches with this plan use; they must be linked first."""
        return ()

    def set_words(self, place: int, values: Sequence[int]) -> None:
        """Write words from `place` on, of one or more adjacent fields; raise OverflowError if a word is too small."""
        try:
            _WRITE[len(values)](self.words, 8 * place, *values)
        except error:
            raise OverflowError(f"no words hold {values}") from None

    def set_checks(self, sizes: Sequence[int], in_place: bool, data_types: Sequence[DataType] = ()) -> None:
        """Write the fields that the check of a launch reads. data_types: of all operands, if Launch gives any."""
        self.sizes, self.in_place = tuple(sizes), in_place
        types = [word for data_type in data_types for word in type_words(data_type)]
        self.set_words(self.fields.sizes, (*self.sizes, in_place, *types))
