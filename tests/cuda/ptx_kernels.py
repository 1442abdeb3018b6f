"""Kernels in PTX for tests of the machine: one instruction over arrays, or a given body."""

import numpy as np

from tests.cuda.ptx_machine.machine import Program, address_range

_REGISTERS = {"f": "f", "i": "b", "u": "b", "b": "b"}


def program(body, *, parameters=("out",), declarations="", name="a kernel"):
    """Return the program of a kernel: it loads its parameters, which are addresses, into registers %name, then runs
    `body`.

    Registers: %p<20>, %h<40> (16 bits), %r<40>, %rd<40>, %f<40>, %fd<40>; %i and %i64 hold the number of the thread in
    the grid. declarations: variables of the module.
    """
    given = ", ".join(f".param .u64 param_{parameter}" for parameter in parameters)
    loads = "\n".join(
        f".reg .b64 %{parameter};\nld.param.u64 %{parameter}, [param_{parameter}];" for parameter in parameters
    )
    return Program(
        f"""
        .version 9.0
        .target sm_90
        .address_size 64
        {declarations}
        .visible .entry kernel({given})
        {{
            .reg .pred %p<20>;
            .reg .b16 %h<40>;
            .reg .b32 %r<40>;
            .reg .b64 %rd<40>;
            .reg .f32 %f<40>;
            .reg .f64 %fd<40>;
            .reg .b32 %i, %n, %c;
            .reg .b64 %i64;
            {loads}
            mov.u32 %i, %tid.x;
            mov.u32 %n, %ntid.x;
            mov.u32 %c, %ctaid.x;
            mad.lo.s32 %i, %c, %n, %i;
            cvt.u64.u32 %i64, %i;
            {body}
            ret;
        }}
        """,
        name,
    )


def launch(kernel, arrays, blocks=(1, 1, 1), threads=(1, 1, 1), shared_bytes=0, more=()):
    """Launch with the addresses of arrays, which the kernel may access, and the words `more`."""
    words = [array.ctypes.data for array in arrays] + list(more)
    kernel.launch(blocks, threads, shared_bytes, words, [address_range(array) for array in arrays])


def apply(text, sources, results, more=""):
    """Return the arrays that instructions compute from arrays, element by element.

    text: instructions on registers %s0, %s1, ... of the elements of `sources`; they set %d0, %d1, ..., of the dtypes
    `results`, which become the returned arrays. more: declarations of registers.
    """
    sources = [np.ascontiguousarray(source) for source in sources]
    (count,) = {source.size for source in sources}
    outs = [np.zeros(count, dtype) for dtype in results]
    lines = [more]
    for kind, arrays in (("s", sources), ("d", outs)):
        for place, array in enumerate(arrays):
            lines.append(f".reg .{_register(array.dtype)} %{kind}{place};\n.reg .b64 %at_{kind}{place};")
            lines.append(f"mad.wide.u32 %at_{kind}{place}, %i, {array.itemsize}, %{kind}_in{place};")
    lines += [f"ld.global.{_memory(a.dtype)} %s{place}, [%at_s{place}];" for place, a in enumerate(sources)]
    lines.append(text)
    lines += [f"st.global.{_memory(a.dtype)} [%at_d{place}], %d{place};" for place, a in enumerate(outs)]
    names = [f"s_in{place}" for place in range(len(sources))] + [f"d_in{place}" for place in range(len(outs))]
    launch(program("\n".join(lines), parameters=names), [*sources, *outs], (count, 1, 1))
    return outs


def _register(dtype):
    return f"{_REGISTERS[dtype.kind]}{max(8 * dtype.itemsize, 16)}"


def _memory(dtype):
    kind = {"f": "f", "i": "s", "u": "u", "b": "u"}[dtype.kind]
    return f"{kind}{8 * dtype.itemsize}"


def pairs(values, *, times=2):
    """Return all combinations of values, as one array for each position."""
    return [np.ascontiguousarray(part.ravel()) for part in np.meshgrid(*[values] * times, indexing="ij")]


def integers(dtype):
    """Return integers at the ends of the range, around zero, and between."""
    info = np.iinfo(dtype)
    near = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0, 1, 2, 3, 7, 31, 32, 33, 100]
    if info.min < 0:
        near += [-1, -2, -3, -100, info.min // 2]
    return np.array([*near, 0x1234567890ABCDEF & info.max], dtype)


def floats(dtype):
    """Return floating-point numbers of every class, and their neighbours."""
    info = np.finfo(dtype)
    near = [0.0, 1.0, 1.5, 0.1, 3.0, 1e10, 0.5, 2.5, 1 + info.eps, 1 - info.epsneg]
    ends = [info.max, info.tiny, info.tiny / 2, info.smallest_subnormal, info.tiny * 1.5, np.inf, info.max / 3]
    numbers = np.array([*near, *ends], dtype)
    return np.concatenate([numbers, -numbers, np.array([np.nan], dtype)])
