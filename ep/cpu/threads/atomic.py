"""Synchronisation of threads: atomic words, and locks to sleep on.

All operations are sequentially consistent. Locks are those of Python's C API (`PyThread_allocate_lock`): they exist on
every platform, need no GIL, and may be released by another thread than the one that acquired them.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_WORD, _INT, _POINTER = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
_ORDER = "seq_cst"


@intrinsic
def atomic_load(typing_context: Any, address: Any) -> Any:
    """Return the word at `address`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(pointer(builder, args[0]), _ORDER, 8)

    return types.int64(types.int64), generate


@intrinsic
def atomic_store(typing_context: Any, address: Any, value: Any) -> Any:
    """Write the word at `address`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], pointer(builder, args[0]), _ORDER, 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def atomic_add(typing_context: Any, address: Any, value: Any) -> Any:
    """Add to the word at `address`, and return its old value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", pointer(builder, args[0]), args[1], _ORDER)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def atomic_replace(typing_context: Any, address: Any, old: Any, new: Any) -> Any:
    """Write `new` to the word at `address` if it is `old`. Return whether it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        done = builder.cmpxchg(pointer(builder, args[0]), args[1], args[2], _ORDER, _ORDER)
        return builder.extract_value(done, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """Tell the core that this thread is spinning."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        triple = builder.module.triple
        if triple.startswith(("x86", "i686")):
            builder.call(external(builder, "llvm.x86.sse2.pause", ir.FunctionType(ir.VoidType(), [])), [])
        elif triple.startswith(("aarch64", "arm64")):
            hint = external(builder, "llvm.aarch64.hint", ir.FunctionType(ir.VoidType(), [_INT]))
            builder.call(hint, [ir.Constant(_INT, 1)])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def yield_processor(typing_context: Any) -> Any:
    """Let another thread that waits for this processor run."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        name = "SwitchToThread" if "windows" in builder.module.triple else "sched_yield"
        builder.call(external(builder, name, ir.FunctionType(_INT, [])), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def acquire_lock(typing_context: Any, lock: Any) -> Any:
    """Sleep until the lock at address `lock` is free, and acquire it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type = ir.FunctionType(_INT, [_POINTER, _INT])
        function = external(builder, "PyThread_acquire_lock", function_type)
        builder.call(function, [builder.inttoptr(args[0], _POINTER), ir.Constant(_INT, 1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def release_lock(typing_context: Any, lock: Any) -> Any:
    """Release the lock at address `lock`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = external(builder, "PyThread_release_lock", ir.FunctionType(ir.VoidType(), [_POINTER]))
        builder.call(function, [builder.inttoptr(args[0], _POINTER)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


def pointer(builder: Any, address: Any) -> Any:
    """Return LLVM's pointer to a word of memory."""
    return builder.inttoptr(address, _WORD.as_pointer())


def external(builder: Any, name: str, function_type: Any) -> Any:
    """Return a function of the process, or of LLVM, by its name."""
    found = builder.module.globals.get(name)
    return found if found is not None else ir.Function(builder.module, function_type, name)
