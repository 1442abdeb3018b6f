"""The reduction of large arguments by pi/2 (Payne and Hanek): exact for every double, one at a time."""

from typing import Any

import numpy as np
from llvmlite import ir

from ep.common.native.emitted import intrinsic
from ep.common.native.on_demand import types
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, WORD, call
from ep.cpu.vector_math.bits import fabs, fma, to_bits
from ep.cpu.vector_math.coefficients import HALF_PI, TWO_OVER_PI_WORDS

_BITS = 64  # in a word
_WORDS = np.array([0, *TWO_OVER_PI_WORDS], np.uint64).view(np.int64)
"""2 / pi after a word of zeros, for arguments down to 1.

192 bits follow the last bit that the largest double needs.
"""


@intrinsic
def _quarters(typing_context: Any, m: Any, words: Any, shift: Any) -> Any:
    """Return (k, high, low, negative): m times three words = 4 j + k + or - (high + low / 2^64) / 2^62.

    words: four, of which the first `shift` bits are skipped. The product of the first word is the top of the result,
        that of the third one begins at its end. The fraction is at most 1/2.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(2 * _BITS)
        m, shift = builder.zext(args[0], wide), args[2]
        a, b, c, d = (builder.extract_value(args[1], number) for number in range(4))
        first, second, third = (
            builder.mul(m, builder.zext(call(builder, "llvm.fshl.i64", WORD, one, next_, shift), wide))
            for one, next_ in ((a, b), (b, c), (c, d))
        )
        total = builder.add(builder.shl(first, wide(_BITS)), builder.add(second, builder.lshr(third, wide(_BITS))))
        k = builder.lshr(builder.add(total, wide(1 << (2 * _BITS - 3))), wide(2 * _BITS - 2))
        fraction = builder.sub(total, builder.shl(k, wide(2 * _BITS - 2)))
        negative = builder.icmp_signed("<", fraction, wide(0))
        fraction = builder.select(negative, builder.neg(fraction), fraction)
        high = builder.trunc(builder.lshr(fraction, wide(_BITS)), WORD)
        return context.make_tuple(
            builder,
            signature.return_type,
            [builder.trunc(k, WORD), high, builder.trunc(fraction, WORD), builder.zext(negative, BYTE)],
        )

    parts = types.Tuple((types.int64, types.int64, types.uint64, types.uint8))
    return parts(types.int64, words, types.int64), generate


@jit
def reduce_large(x: float) -> tuple[float, float, int]:
    """Return (r, its rest, k): x = k pi/2 + r + rest, |r| <= pi/4, for finite |x| >= 1.

    Only the low bits of k are valid.
    With |x| = m 2^e, the bits of 2 / pi that give multiples of 4 are left out, and so are those after the next 192. The
    error of the product is then 2^-126, and the product is never nearer to an integer than 2^-62.
    """
    bits = to_bits(fabs(x))
    place, m = (bits >> 52) - (1075 - 62), (bits & ((1 << 52) - 1)) | (1 << 52)
    i = place >> 6
    words = (_WORDS[i], _WORDS[i + 1], _WORDS[i + 2], _WORDS[i + 3])
    k, high, low, negative = _quarters(m, words, place & 63)
    leading = float(high)
    trailing = float(high - int(leading)) + float(low) * 2.0**-64
    value = leading + trailing
    rest = (leading - value) + trailing
    r = fma(value, HALF_PI[0], 0.0)
    r_rest = fma(value, HALF_PI[0], -r) + fma(value, HALF_PI[1], rest * HALF_PI[0])
    unit = -(2.0**-62) if (x < 0.0) != (negative != 0) else 2.0**-62
    return r * unit, r_rest * unit, -k if x < 0.0 else k
