"""Lifetimes that Numba computes only where it uses them: the same code, and Numba as before afterwards."""

import pytest
from numba.core import compiler, postproc

from ep.common.native.lifetimes import lifetimes_where_used
from tests.restored import check_restored


def several_blocks(n, step):
    total = 0
    for i in range(n):
        part = i * step
        if part > 7:
            total += part
    return total


def with_dels(extend_lifetimes):
    function = compiler.run_frontend(several_blocks)
    processor = postproc.PostProcessor(function)
    processor.run()
    processor.run(emit_dels=True, extend_lifetimes=extend_lifetimes)
    return [str(statement) for _, block in sorted(function.blocks.items()) for statement in block.body]


@pytest.mark.parametrize("extend_lifetimes", [False, True])
def test_variables_are_dropped_at_the_same_places(extend_lifetimes):
    expected = with_dels(extend_lifetimes)
    with lifetimes_where_used(postproc):
        assert with_dels(extend_lifetimes) == expected
    assert any(line.startswith("del ") for line in expected)


def test_intermediate_lifetimes_are_not_computed(monkeypatch):
    computed = []
    numbas = postproc.analysis.compute_use_defs
    monkeypatch.setattr(postproc.analysis, "compute_use_defs", lambda blocks: computed.append(1) or numbas(blocks))
    compiler.run_frontend(several_blocks)
    assert computed
    computed.clear()
    with lifetimes_where_used(postproc):
        compiler.run_frontend(several_blocks)
    assert not computed


def test_numba_is_left_as_it_was():
    check_restored(lambda: [postproc.PostProcessor.run], lambda: lifetimes_where_used(postproc))
