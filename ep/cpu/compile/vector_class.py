"""The classes of vectors, of masks, and of single elements in memory: see `vector.py`."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeAlias

from llvmlite import ir

from ep.common.native.emitted import emitted, intrinsic
from ep.common.native.fields import OtherElements
from ep.common.native.on_demand import OnDemand
from ep.cpu.compile import vectors
from ep.cpu.compile.conversion import narrowed, widened
from ep.cpu.compile.vectors import BIT, REALS, WORD, constant, pointer_to, stored_bits
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES, INTEGERS

Vector: TypeAlias = Any
"""A vector of compiled code, or a number in its place."""

Mask: TypeAlias = Any
"""A mask of compiled code, or a boolean in its place."""

_kinds: Final[Any] = OnDemand("ep.cpu.compile.vector_types")


class VectorClass(OtherElements):
    """The class of classes of vectors, masks and single elements.

    data_type: of elements; None for masks. lanes: None for single elements.
    """

    data_type: DataType | None
    lanes: int | None

    @property
    def element(cls) -> Any:
        """The LLVM type of a lane: of bits, for types that are not computed in."""
        if cls.data_type is None:
            return BIT
        return REALS.get(cls.data_type) or stored_bits(cls.data_type)

    @property
    def llvm_type(cls) -> Any:
        """The LLVM type of a value."""
        return cls.element if cls.lanes is None else ir.VectorType(cls.element, cls.lanes)

    @property
    def is_real(cls) -> bool:
        """Whether lanes are floating-point numbers to compute with."""
        return cls.data_type in REALS

    @property
    def is_integer(cls) -> bool:
        """Whether lanes are integers."""
        return cls.data_type in INTEGERS

    @property
    def is_signed(cls) -> bool:
        """Whether lanes are signed integers."""
        return cls.data_type is not None and cls.data_type.dtype.kind == "i"

    @property
    def zero(cls) -> Any:
        """Compiled code's function () that returns a vector of zeros."""
        return _constant(cls, 0)

    @property
    def splat(cls) -> Any:
        """Compiled code's function (number) that returns a vector of copies of a number, converted to the type."""
        return _splat(cls)

    def item_type(cls) -> Any:
        return _kinds.value_type(cls)

    def read_item(cls, builder: Any, pointer: Any, index: Any) -> Any:
        if cls.lanes is not None:
            return vectors.load(builder, _place(builder, cls, pointer, index), cls.llvm_type)
        assert cls.data_type is not None
        bits = vectors.load(builder, pointer, stored_bits(cls.data_type), index)
        return widened(builder, bits, cls.data_type)

    def write_item(cls, builder: Any, pointer: Any, index: Any, value: Any) -> None:
        place = _place(builder, cls, pointer, index)
        vectors.store(builder, value if cls.lanes is not None else _stored(builder, cls, value), place)

    def place(cls, builder: Any, pointer: Any, index: Any) -> Any:
        return builder.ptrtoint(_place(builder, cls, pointer, index), WORD)

    def on_new_stack(cls, builder: Any, count: int) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(cls.llvm_type, count)
        return builder.ptrtoint(memory, WORD)


def _stored(builder: Any, cls: VectorClass, value: Any) -> Any:
    assert cls.data_type is not None
    return narrowed(builder, value, cls.data_type) if cls.data_type in HALVES else value


def _place(builder: Any, cls: VectorClass, pointer: Any, index: Any) -> Any:
    kind = cls.llvm_type
    return builder.gep(pointer_to(builder, pointer, kind), [index])


@cache
def vector(data_type: DataType, lanes: int) -> Any:
    """Return the class of vectors of `lanes` elements."""
    return VectorClass(f"{data_type.name}x{lanes}", (), {"data_type": data_type, "lanes": lanes})


@cache
def mask(lanes: int) -> Any:
    """Return the class of masks of `lanes` lanes. Their arrays are on the stack: they have no form for other memory."""
    return VectorClass(f"mask_{lanes}", (), {"data_type": None, "lanes": lanes})


@cache
def elements(data_type: DataType) -> Any:
    """Return the class of single numbers in memory, at any address; 16-bit floating types are read as float32.

    `p[begin:]`, of a pointer `p` to them, is a pointer to element `begin` and those behind it.
    """
    return VectorClass(f"{data_type.name}s", (), {"data_type": data_type, "lanes": None})


@cache
def _constant(cls: VectorClass, number: int) -> Any:
    @emitted(lambda: _kinds.value_type(cls))
    def make(builder: Any) -> Any:
        return constant(cls.llvm_type, float(number) if cls.is_real else number)

    return make


@cache
def _splat(cls: VectorClass) -> Any:
    @intrinsic
    def splat(typing_context: Any, number: Any) -> Any:
        kind = _kinds.value_type(cls)
        return kind(number), lambda context, builder, signature, args: context.cast(builder, *args, number, kind)

    return splat
