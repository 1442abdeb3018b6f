"""PTX's types, and the LLVM types that represent them: i1, iN, float and double."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class PtxType:
    """A type. Its kind is u, s (integers), b (bits), f (f32, f64), h (16-bit floats, kept as their bits) or p
    (predicates).
    """

    name: str
    kind: str
    bits: int
    lanes: int = 1

    @property
    def llvm(self) -> str:
        """Return LLVM's type for the value of a register."""
        if self.kind == "f":
            return "float" if self.bits == 32 else "double"
        return f"i{self.bits}"

    @property
    def integer(self) -> str:
        """Return LLVM's integer type of the same width."""
        return f"i{self.bits}"

    @property
    def bytes(self) -> int:
        """Return the bytes in memory."""
        return max(self.bits // 8, 1)

    @property
    def signed(self) -> bool:
        """Return whether it is sign-extended."""
        return self.kind == "s"


PRED: Final = PtxType("pred", "p", 1)
TYPES: Final = {
    type.name: type
    for type in (
        PRED,
        *(PtxType(f"{kind}{bits}", kind, bits) for kind in "usb" for bits in (8, 16, 32, 64)),
        PtxType("b128", "b", 128),
        PtxType("f16", "h", 16),
        PtxType("bf16", "h", 16),
        PtxType("f16x2", "h", 32, 2),
        PtxType("bf16x2", "h", 32, 2),
        PtxType("f32", "f", 32),
        PtxType("f64", "f", 64),
    )
}
U16, U32, U64, F32, F64 = (TYPES[name] for name in ("u16", "u32", "u64", "f32", "f64"))


def bits_of(width: int) -> PtxType:
    """Return the type `b` of a number of bits."""
    return TYPES[f"b{width}"]
