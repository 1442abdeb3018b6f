"""Words of raw memory in compiled code. Addresses are int64 values."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted, intrinsic
from ep.common.native.on_demand import types

_WORD: Final = ir.IntType(64)
_INT: Final = ir.IntType(32)
_DOUBLE: Final = ir.DoubleType()


def _place(builder: Any, address: Any, kind: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])


def words_behind(builder: Any, address: Any, number: Any) -> Any:
    """Return `address + 8 * number`, of which LLVM knows that it is in the same memory as the address."""
    return builder.ptrtoint(_place(builder, address, _WORD, number), _WORD)


@emitted("int64")
def load_word(builder: Any, address: Any, index: Any) -> Any:
    """Return the int64 at `address + 8 * index`."""
    return builder.load(_place(builder, address, _WORD, index), align=8)


@emitted("int64")
def load_int(builder: Any, address: Any) -> Any:
    """Return the C int at `address`, as int64."""
    return builder.sext(builder.load(builder.inttoptr(address, _INT.as_pointer()), align=4), _WORD)


@emitted("float64")
def load_float64(builder: Any, address: Any, index: Any) -> Any:
    """Return the float64 at `address + 8 * index`."""
    return builder.load(_place(builder, address, _DOUBLE, index), align=8)


@emitted()
def store_word(builder: Any, address: Any, index: Any, value: Any) -> None:
    """Write the int64 `value` to `address + 8 * index`."""
    builder.store(value, _place(builder, address, _WORD, index), align=8)


@intrinsic
def stack_words(typing_context: Any, count: Any) -> Any:
    """Return the address of `count` (a literal) uninitialised words on the calling function's stack."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    size = count.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return stack_memory(builder, size)

    return types.int64(count), generate


def stack_memory(builder: Any, count: int) -> Any:
    """Return the address of `count` new words on the stack."""
    with builder.goto_entry_block():  # not `alloca_once`, whose zeros LLVM splits into single words
        words = builder.alloca(_WORD, count)
    return builder.ptrtoint(words, _WORD)
