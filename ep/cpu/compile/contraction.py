"""Fusion of products and sums into fused multiply-adds, done once on the scalar function, before LLVM sees it.

With the flag `contract`, LLVM would decide late, and separately for each copy of a function: the copy in the vector
loop, the one in the loop over the remaining elements, one with a loop-invariant operand. The results of the copies
would then differ in their last bits. So no instruction has the flag: a product and a sum that are to be fused are one
instruction already.
"""

from collections import Counter
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import InsertValue

_TYPES = (ir.FloatType, ir.DoubleType)


def fuse(function: Any) -> None:
    """Fuse each product in `function` whose only use is in a sum or difference with it.

    If both operands of a sum are products, the first is fused.
    """
    sums = [
        (block, one)
        for block in function.blocks
        for one in block.instructions
        if one.opname in ("fadd", "fsub") and isinstance(one.type, _TYPES)
    ]
    if not sums:  # as in most functions
        return
    uses = Counter(id(value) for block in function.blocks for one in block.instructions for value in _operands(one))
    for block, instruction in sums:
        _fuse(block, instruction, uses)


def _fuse(block: Any, instruction: Any, uses: Counter[int]) -> None:
    left, right = instruction.operands
    subtracted = instruction.opname == "fsub"
    if _is_product(left) and uses[id(left)] == 1:
        (a, b), c, product = left.operands, right, left
        if subtracted:
            c = _negated(block, instruction, c)
    elif _is_product(right) and uses[id(right)] == 1 and not _is_zero(left):  # 0 - x is how Numba negates
        (a, b), c, product = right.operands, left, right
        if subtracted:
            a = _negated(block, instruction, a)
    else:
        return
    real, module = instruction.type, block.module
    fma = module.declare_intrinsic("llvm.fma", [real], ir.FunctionType(real, [real] * 3))
    fused = ir.CallInstr(block, fma, [a, b, c])
    block.replace(instruction, fused)
    for user in (user for block in block.function.blocks for user in block.instructions):
        if isinstance(user, InsertValue) and user.value is instruction:
            user.value = fused  # llvmlite replaces the value among the operands only; an InsertValue writes `value`
    product.parent.instructions.remove(product)


def _negated(block: Any, before: Any, value: Any) -> Any:
    minus = ir.Instruction(block, value.type, "fneg", [value])
    block.instructions.insert(block.instructions.index(before), minus)
    return minus


def _operands(instruction: Any) -> Any:
    if isinstance(instruction, ir.PhiInstr):
        return [value for value, _ in instruction.incomings]
    return instruction.operands


def _is_product(value: Any) -> bool:
    return isinstance(value, ir.Instruction) and value.opname == "fmul"


def _is_zero(value: Any) -> bool:
    return isinstance(value, ir.Constant) and value.constant == 0
