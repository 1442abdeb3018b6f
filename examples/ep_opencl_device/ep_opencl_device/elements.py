"""The types of elements in OpenCL C: how they are stored, in which type kernels compute, and conversions as Cast does.

Integers are computed in 64 bits, and 16-bit floating types in float32. Elements of 16 bytes are moved alone.
"""

import numpy as np

from ep import DataType as T

STORED = {
    **{T.kBool: "uchar", T.kChar: "char", T.kFloat16: "ushort", T.kBFloat16: "ushort", T.kComplex128: "ulong2"},
    **{T.kInt8: "char", T.kInt16: "short", T.kInt32: "int", T.kInt64: "long", T.kFloat: "float"},
    **{T.kUInt8: "uchar", T.kUInt16: "ushort", T.kUInt32: "uint", T.kUInt64: "ulong", T.kDouble: "double"},
}
"""The type of each element in memory."""

_COMPUTED = {"b": "bool", "i": "long", "u": "ulong", "f": "float", "V": "float", "c": "ulong2"}


def computed(data_type):
    """Return the type in which elements are computed."""
    return "double" if data_type is T.kDouble else _COMPUTED[data_type.dtype.kind]


def arithmetic(data_type):
    """Return the type of NumPy's numbers in which elements are computed."""
    return np.float32 if computed(data_type) == "float" else data_type.dtype.type


def loaded(data_type, stored):
    """Return the text of an element as it is computed; stored: its text as it is in memory."""
    if data_type is T.kBool:
        return f"({stored} != 0)"
    reads = {T.kFloat16: "from_half", T.kBFloat16: "from_bfloat16"}
    return f"{reads.get(data_type, f'({computed(data_type)})')}({stored})"


def converted(text, from_type, data_type):
    """Return the text of a number as an element in memory; from_type: the type in which it is computed."""
    if data_type is T.kBool:
        return f"({text} != 0)"
    stored = {T.kFloat16: "half", T.kBFloat16: "bfloat16"}.get(data_type, STORED[data_type])
    saturates = from_type in ("float", "double") and data_type.dtype.kind in "iu"
    return f"{f'{stored}_of_{from_type}' if saturates or stored != STORED[data_type] else f'({stored})'}({text})"


PRELUDE = """
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

float from_half(ushort bits) { return vload_half(0, (const half*)&bits); }
float from_bfloat16(ushort bits) { return as_float((uint)bits << 16); }

// rounded once, to nearest even: a number that is no float is first one whose last bit says that there is more
ushort bfloat16_of(float x, bool more) {
    uint bits = as_uint(x) | more;
    return isnan(x) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#define CONVERSIONS(T) \\
    ushort half_of_##T(T x) { ushort bits; vstore_half_rte((double)x, 0, (half*)&bits); return bits; } \\
    ushort bfloat16_of_##T(T x) { float f = convert_float_rtz(x); return bfloat16_of(f, (T)f != x); }
#define SATURATED(I) \\
    I I##_of_float(float x) { return isnan(x) ? 0 : convert_##I##_sat(x); } \\
    I I##_of_double(double x) { return isnan(x) ? 0 : convert_##I##_sat(x); }
SATURATED(char) SATURATED(short) SATURATED(int) SATURATED(long)
SATURATED(uchar) SATURATED(ushort) SATURATED(uint) SATURATED(ulong)
CONVERSIONS(long) CONVERSIONS(ulong) CONVERSIONS(float) CONVERSIONS(double)
#define half_of_bool(x) half_of_ulong(x)
#define bfloat16_of_bool(x) bfloat16_of_ulong(x)

long floor_div(long a, long b) { long q = a / b; return q * b != a && (a < 0) != (b < 0) ? q - 1 : q; }
long floor_mod(long a, long b) { return a - floor_div(a, b) * b; }

// where the row of an index begins; -1 if there is none. w: the number of rows, their distance, and the first index
long row_of(long index, __constant long* w) {
    bool exists = index >= w[2] && (ulong)index - (ulong)w[2] < (ulong)w[0];
    return exists ? (index - w[2]) * w[1] : -1;
}
"""
