"""The machine's branches and calls, its counts of instructions, and its errors for unknown PTX."""

import numpy as np
import pytest

from tests.cuda.ptx_kernels import launch, program
from tests.cuda.ptx_machine.machine import Program
from tests.cuda.ptx_machine.syntax import UnknownPtxError

SUM_TO_N = """
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
$L__again:
    setp.gt.u32 %p1, %r1, %i;
    @%p1 bra $L__done;
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    bra.uni $L__again;
$L__done:
    mad.wide.u32 %rd1, %i, 4, %out;
    st.global.u32 [%rd1], %r2;
"""


def test_loops():
    out = np.zeros(10, np.uint32)
    launch(program(SUM_TO_N), [out], blocks=(5, 1, 1), threads=(2, 1, 1))
    np.testing.assert_array_equal(out, [n * (n + 1) // 2 for n in range(10)])


def test_instructions_are_counted():
    kernel, out = program(SUM_TO_N), np.zeros(10, np.uint32)
    launch(kernel, [out], threads=(10, 1, 1))
    counts = {site.text: count for site, count in kernel.executed().items()}
    assert counts["add.u32 %r2, %r2, %r1"] == sum(range(1, 11))
    assert counts["setp.gt.u32 %p1, %r1, %i"] == sum(range(2, 12))
    assert counts["@%p1 bra $L__done"] == 10
    assert counts["st.global.u32 [%rd1], %r2"] == 10
    launch(kernel, [out], threads=(10, 1, 1))
    assert kernel.executed().total() == 2 * sum(counts.values())


def test_guards():
    out = np.full(8, 7, np.uint32)
    kernel = program("""
        and.b32 %r1, %i, 1;
        setp.eq.u32 %p1, %r1, 0;
        mad.wide.u32 %rd1, %i, 4, %out;
        @%p1 st.global.u32 [%rd1], %i;
        @!%p1 st.global.u32 [%rd1], 100;
    """)
    launch(kernel, [out], threads=(8, 1, 1))
    np.testing.assert_array_equal(out, [0, 100, 2, 100, 4, 100, 6, 100])
    stores = [count for site, count in kernel.executed().items() if site.name == "st"]
    assert stores == [4, 4]


def test_threads_that_exit_do_nothing_more():
    body = """
        setp.gt.u32 %p1, %i, 1;
        @%p1 exit;
        mad.wide.u32 %rd1, %i, 4, %out;
        st.global.u32 [%rd1], 9;
    """
    out = np.zeros(4, np.uint32)
    launch(program(body), [out], threads=(4, 1, 1))
    assert out.tolist() == [9, 9, 0, 0]


def test_a_branch_by_an_index():
    out = np.zeros(4, np.uint32)
    kernel = program("""
        mad.wide.u32 %rd1, %i, 4, %out;
        targets: .branchtargets $one, $two, $three, $two;
        brx.idx %i, targets;
    $one:
        mov.u32 %r1, 1;
        bra $end;
    $two:
        mov.u32 %r1, 2;
        bra $end;
    $three:
        mov.u32 %r1, 3;
    $end:
        st.global.u32 [%rd1], %r1;
    """)
    launch(kernel, [out], threads=(4, 1, 1))
    np.testing.assert_array_equal(out, [1, 2, 3, 2])


CALL = """
    .func (.param .b64 result) twice_and_more(.param .b32 number, .param .b64 more)
    {
        .reg .b32 %r<3>;
        .reg .b64 %rd<4>;
        .reg .pred %p<2>;
        ld.param.u32 %r1, [number];
        ld.param.u64 %rd1, [more];
        setp.lt.u32 %p1, %r1, 2;
        @%p1 bra $small;
        mul.wide.u32 %rd2, %r1, 2;
        add.u64 %rd1, %rd1, %rd2;
    $small:
        st.param.b64 [result+0], %rd1;
        ret;
    }
"""


def test_calls_and_scopes():
    out = np.zeros(4, np.uint64)
    one = """
        {
            .reg .b32 %temporary;
            .param .b32 param0;
            .param .b64 param1;
            .param .b64 back;
            add.u32 %temporary, %i, 0;
            st.param.b32 [param0], %temporary;
            st.param.b64 [param1+0], {more};
            call.uni (back), twice_and_more, (param0, param1);
            ld.param.b64 %rd2, [back];
        }
    """
    kernel = program(
        f"""
        {one.replace("{more}", "100")}
        {one.replace("{more}", "%rd2").replace(".b32 %temporary", ".u32 %temporary")}
        mad.wide.u32 %rd1, %i, 8, %out;
        st.global.u64 [%rd1], %rd2;
        """,
        declarations=CALL,
    )
    launch(kernel, [out], threads=(4, 1, 1))
    np.testing.assert_array_equal(out, [100, 100, 108, 112])


def test_special_registers_of_three_axes():
    names = ["tid", "ntid", "ctaid", "nctaid"]
    body = "\n".join(
        f"mov.u32 %r1, %{name}.{axis};\nst.global.u32 [%rd1+{4 * (3 * place + offset)}], %r1;"
        for place, name in enumerate(names)
        for offset, axis in enumerate("xyz")
    )
    kernel = program(f"""
        mov.u32 %r2, %nctaid.x;  mov.u32 %r3, %nctaid.y;
        mov.u32 %r4, %ctaid.y;   mov.u32 %r5, %ctaid.z;
        mad.lo.u32 %r5, %r5, %r3, %r4;
        mad.lo.u32 %r5, %r5, %r2, %c;
        mov.u32 %r2, %ntid.x;    mov.u32 %r3, %ntid.y;
        mov.u32 %r6, %ntid.z;
        mul.lo.u32 %r5, %r5, %r6;
        mov.u32 %r4, %tid.z;
        add.u32 %r5, %r5, %r4;
        mov.u32 %r4, %tid.y;
        mad.lo.u32 %r5, %r5, %r3, %r4;
        mov.u32 %r4, %tid.x;
        mad.lo.u32 %r5, %r5, %r2, %r4;
        mad.wide.u32 %rd1, %r5, 48, %out;
        {body}
    """)
    blocks, threads = (3, 2, 2), (2, 3, 5)
    out = np.zeros((2, 2, 3, 5, 3, 2, 4, 3), np.uint32)
    launch(kernel, [out], blocks, threads)
    for place in np.ndindex(*out.shape[:6]):
        want = [place[:2:-1], threads, place[2::-1], blocks]
        np.testing.assert_array_equal(out[place], want)


def test_lanes_and_their_masks():
    names = ["%laneid", "%warpid", *(f"%lanemask_{how}" for how in ("eq", "lt", "le", "gt", "ge")), "WARP_SZ"]
    stores = "\n".join(f"mov.u32 %r1, {name};\nst.global.u32 [%rd1+{4 * n}], %r1;" for n, name in enumerate(names))
    out = np.zeros((70, len(names)), np.uint32)
    launch(program(f"mad.wide.u32 %rd1, %i, {4 * len(names)}, %out;\n{stores}"), [out], threads=(70, 1, 1))
    for thread, got in enumerate(out.tolist()):
        own = 1 << thread % 32
        assert got == [thread % 32, thread // 32, own, own - 1, 2 * own - 1, 2**32 - 2 * own, 2**32 - own, 32]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("frobnicate.f32 %f1, %f2;", r"instruction frobnicate\.f32 is not known, in 'frobnicate\.f32 %f1, %f2'"),
        ("add.rn.bfloat %f1, %f2, %f3;", r"instruction add\.rn\.bfloat is not known"),
        ("add.relu.f32 %f1, %f2, %f3;", r"instruction add\.relu\.f32 is not known"),
        ("ex2.approx.f16 %h1, %h2;", r"instruction ex2\.approx\.f16 is not known"),
        ("mul.s32 %r1, %r2, %r3;", r"instruction mul\.s32 is not known"),
        ("bar.sync 0, 64;", r"instruction bar\.sync is not known, in 'bar\.sync 0, 64'"),
        ("add.s32 %r1, %r2, %nothing;", r"instruction add\.s32 is not known, in .*%nothing"),
        ("mov.u32 %r99, 1;", r"instruction mov\.u32 is not known"),
        ("mov.u32 %r1, %clock;", r"instruction mov\.u32 is not known, in .*%clock"),
        ("add.s32 %r1, %r2, ?;", r"line \d+ of the PTX is not known: 'add\.s32 %r1, %r2, \?;'"),
        (".reg .b32;", r"line \d+ of the PTX is not known"),
    ],
)
def test_what_is_not_known_is_named(body, error):
    with pytest.raises(UnknownPtxError, match=error):
        program(body)


def test_texts_without_one_entry_are_refused():
    with pytest.raises(UnknownPtxError, match="0 entries in one text"):
        Program(".version 9.0\n.target sm_90\n.address_size 64\n")


def test_a_meeting_in_a_function_that_is_called_is_refused():
    function = ".func waits()\n{\nbar.sync 0;\nret;\n}"
    with pytest.raises(UnknownPtxError, match=r"line \d+ of the PTX: bar\.sync in a function that is called"):
        program("call waits;", declarations=function)


def test_launches_without_their_parameters_are_refused():
    with pytest.raises(ValueError, match="takes 1 parameters, not 0"):
        program(SUM_TO_N).launch((1, 1, 1), (1, 1, 1), 0, [], [])


def test_more_static_shared_memory_than_ptxas_accepts_is_refused():
    program("", declarations=".shared .align 4 .b8 kept[49152];")
    with pytest.raises(ValueError, match="a block has at most 49152 bytes of static shared memory"):
        program("", declarations=".shared .align 4 .b8 kept[49153];")
