"""The machine's loads and stores, memory of each kind, atomic operations, and fences."""

import numpy as np
import pytest

from tests.cuda.ptx_kernels import launch, program


def test_vectors_and_widths():
    source = np.arange(64, dtype=np.uint8)
    out = np.zeros(64, np.uint8)
    kernel = program(
        """
        ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%source];
        st.global.v2.u32 [%out+8], {%r1, %r2};
        st.global.v2.u32 [%out], {%r3, %r4};
        ld.global.nc.L1::no_allocate.v2.f64 {%fd1, %fd2}, [%source+16];
        st.global.v2.f64 [%out+16], {%fd2, %fd1};
        ld.volatile.global.u16 %h1, [%source+32];
        st.global.u8 [%out+32], %h1;
        ld.u64 %rd1, [%source+40];
        st.u64 [%out+40], %rd1;
        """,
        parameters=("out", "source"),
    )
    launch(kernel, [out, source])
    want = np.zeros(64, np.uint8)
    want[:16] = [*range(8, 16), *range(8)]
    want[16:32] = [*range(24, 32), *range(16, 24)]
    want[32] = 32
    want[40:48] = range(40, 48)
    np.testing.assert_array_equal(out, want)


def test_constants_and_local_memory():
    out = np.zeros(6, np.uint32)
    kernel = program(
        """
        .local .align 8 .b8 depot[24];
        mov.u64 %rd1, depot;
        cvta.local.u64 %rd2, %rd1;
        mov.u64 %rd3, table;
        mul.wide.u32 %rd4, %i, 4;
        add.u64 %rd5, %rd3, %rd4;
        ld.const.u32 %r1, [%rd5];
        add.u64 %rd6, %rd1, %rd4;
        st.local.u32 [%rd6], %r1;
        add.u64 %rd7, %rd2, %rd4;
        ld.u32 %r2, [%rd7];
        ld.global.u32 %r3, [counters+4];
        add.u32 %r2, %r2, %r3;
        add.u64 %rd8, %out, %rd4;
        st.global.u32 [%rd8], %r2;
        """,
        declarations="""
        .const .align 4 .u32 table[6] = {3, 1, 4, 1, 5, 9};
        .global .align 4 .u32 counters[2] = {-1, 1000};
        .common .global .align 8 .u64 nobody_uses_this;
        """,
    )
    launch(kernel, [out], threads=(6, 1, 1))
    np.testing.assert_array_equal(out, [1003, 1001, 1004, 1001, 1005, 1009])


ATOMICS = {
    # memory begins as 3, and threads 0 to 9 each apply their number: the final value, and the value that the last one
    # saw
    "add.u32": (48, 39),
    "min.u32": (0, 0),
    "max.s32": (9, 8),
    "or.b32": (15, 15),
    "and.b32": (0, 0),
    "xor.b32": (3 ^ 1, 3 ^ 1 ^ 9),
    "exch.b32": (9, 8),
    "inc.u32": (3, 2),  # modulo 10
    "dec.u32": (3, 4),
}


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("operation", ATOMICS)
def test_atomics(operation, space):
    out = np.full(2, 3, np.uint32)
    name, _, type = operation.partition(".")
    value = "9" if name in ("inc", "dec") else "%i"
    kernel = program(
        f"""
        mov.u64 %rd1, {"%out" if space == "global" else "kept"};
        setp.eq.u32 %p1, %i, 0;
        @%p1 st.{space}.u32 [%rd1], 3;
        bar.sync 0;
        atom.{space}.{name}.{type} %r1, [%rd1], {value};
        red.{space}.add.u32 [%rd1], 0;
        bar.sync 0;
        ld.{space}.u32 %r2, [%rd1];
        bar.sync 0;
        setp.eq.u32 %p2, %i, 9;
        @%p2 st.global.v2.u32 [%out], {{%r2, %r1}};
        """,
        declarations=".shared .align 4 .u32 kept[1];",
    )
    launch(kernel, [out.view()], threads=(10, 1, 1))
    want, before = ATOMICS[operation]
    assert out.tolist() == [want, before]


def test_atomic_exchange_where_equal_and_sums_of_floats():
    out, total = np.array([5, 0, 0], np.uint64), np.zeros(1, np.float64)
    kernel = program(
        """
        atom.relaxed.gpu.global.cas.b64 %rd1, [%out], 5, 77;
        mul.wide.u32 %rd2, %i, 8;
        add.u64 %rd3, %out, %rd2;
        st.global.u64 [%rd3+8], %rd1;
        atom.global.add.f64 %fd1, [%total], 0d3FF8000000000000;
        """,
        parameters=("out", "total"),
    )
    launch(kernel, [out, total], threads=(2, 1, 1))
    assert out.tolist() == [77, 5, 77]
    assert total[0] == 3


@pytest.mark.parametrize("instruction", ["fence.acq_rel.gpu", "fence.sc.cta", "membar.gl", "membar.cta"])
def test_after_a_fence_is_there_what_was_written(instruction):
    body = f"""
        .shared .u32 kept;
        setp.eq.u32 %p1, %i, 0;
        @%p1 st.shared.u32 [kept], 5;
        {instruction};
        bar.sync 0;
        ld.shared.u32 %r1, [kept];
        mad.wide.u32 %rd1, %i, 4, %out;
        st.global.u32 [%rd1], %r1;
    """
    out = np.zeros(3, np.uint32)
    launch(program(body), [out], threads=(3, 1, 1))
    assert out.tolist() == [5, 5, 5]


def test_loads_of_what_is_the_same_for_all_threads():
    body = """
        ldu.global.u32 %r1, [%table];
        add.u32 %r1, %r1, %i;
        mad.wide.u32 %rd1, %i, 4, %out;
        st.global.u32 [%rd1], %r1;
    """
    table, out = np.array([7], np.uint32), np.zeros(3, np.uint32)
    launch(program(body, parameters=("table", "out")), [table, out], threads=(3, 1, 1))
    assert out.tolist() == [7, 8, 9]
