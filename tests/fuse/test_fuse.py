"""Fused functions and blocks: the arguments that they accept and refuse, and when they trace."""

import numpy as np
import pytest

import ep


@pytest.fixture
def x(rng):
    return rng.random((7, 11), np.float32)


def test_results_in_tuples_and_dicts(x):
    @ep.fuse
    def both(x, y):
        total = x + y
        return {"total": total, "rest": (total * x, x)}

    found = both(x, x[0])
    assert np.array_equal(found["total"], x + x[0])
    assert np.array_equal(found["rest"][0], (x + x[0]) * x)
    assert np.array_equal(found["rest"][1], x)


def test_what_is_fused_must_be_callable():
    with pytest.raises(TypeError, match="function must be callable, not 3"):
        ep.fuse(3)


def test_a_number_that_python_reads_is_part_of_the_trace(x):
    @ep.fuse
    def chosen(x, number):
        return x + 1.0 if number > 3 else ep.ops.sum(x, int(number))

    assert np.array_equal(chosen(x, 4), x + 1)
    assert np.array_equal(chosen(x, 1), ep.ops.sum(x, 1))
    assert np.array_equal(chosen(x, 5), x + 1)


def test_operators_that_no_kernel_joins_are_computed_alone(x):
    @ep.fuse
    def normal(x):
        d = x - x.mean(-1, keepdims=True)
        return (d * d).T.reshape(-1)[3:9]

    d = ep.ops.sub(x, ep.ops.mean(x, -1, keepdims=True))
    assert np.array_equal(normal(x), ep.ops.mul(d, d).T.reshape(-1)[3:9])
    said = normal.explain(x)
    assert "operator of permute" in said
    assert "row kernel of mean sub mul" in said


def test_equal_sizes_of_different_axes_are_not_confused(rng):
    square, row, column = rng.random((6, 6), np.float32), rng.random(6, np.float32), rng.random((6, 1), np.float32)
    fused = ep.fuse(lambda a, b, c: (a + b) * c - b)
    assert np.array_equal(fused(square, row, column), (square + row) * column - row)


def test_a_fused_function_in_another_is_part_of_it(x):
    inner = ep.fuse(lambda x, y: x * y)
    outer = ep.fuse(lambda x: inner(x, 2.0) + x)
    assert np.array_equal(outer(x), x * 2 + x)
    assert outer.explain(x).count("map kernel") == 1


def test_arrays_of_another_trace_are_refused(x):
    """This includes arrays of a function of the same name."""

    def total(x):
        def total(y):
            return y + x

        return ep.fuse(total)(kept)

    kept = x
    with pytest.raises(TypeError, match=r"y \(LazyArray\) is no part of the trace of total"):
        ep.fuse(total)(x)


def test_a_fused_function_of_a_fused_function_has_its_own_options(rng):
    x = rng.random(1000, np.float32).astype(ep.DataType.kBFloat16.dtype)
    each = ep.fuse(ep.fuse(lambda x: x * x - x), round_each=True)
    assert np.array_equal(each(x), ep.ops.sub(ep.ops.mul(x, x), x))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x if x > 0 else -x, "ep.ops.where"),
        (lambda x: float(x), "compute with the array"),
        (lambda x: list(x), "use slices"),
        (lambda x: x[x > 0], "ep.ops.gather"),
        (lambda x: np.asarray(x), "functions of ep.ops"),
        (lambda x: np.sum([x, x]), "functions of ep.ops"),  # in the user's line, and not in NumPy's
    ],
)
def test_an_array_that_is_not_computed_yet_has_no_values(function, words, x):
    with pytest.raises(TypeError, match=rf"in line \d+ of .*test_fuse.py: .*{words}"):
        ep.fuse(function)(x)


def test_what_is_shown():
    def scaled(x):
        return x * 2

    assert repr(ep.fuse(scaled)) == "<ep.fuse(test_what_is_shown.<locals>.scaled)>"
    assert repr(ep.grad(scaled)) == "<ep.grad(test_what_is_shown.<locals>.scaled)>"
    assert repr(ep.value_and_grad(scaled)) == "<ep.value_and_grad(test_what_is_shown.<locals>.scaled)>"


def test_arrays_from_elsewhere_are_refused(x):
    kept, message = (
        [],
        "is no part of the trace of <lambda>: make it an argument of the function, or a view of the block",
    )
    for function, stranger in (
        (lambda y: y * x, r"y \(ndarray\)"),
        (lambda y: x * y, r"x \(ndarray\)"),
        (lambda y: y + [1.0] * y.shape[-1], r"y \(list\)"),
        (lambda y: ep.ops.gather(y, [0]), r"indices \(list\)"),
    ):
        with pytest.raises(TypeError, match=f"^{stranger} {message}$"):
            ep.fuse(function)(x)
    ep.fuse(lambda y: kept.append(y) or y + 1.0)(x)
    with pytest.raises(RuntimeError, match="has ended"):
        kept[0] + 1.0
    for read in (float, bool, list, np.asarray):
        with pytest.raises(RuntimeError, match=r"has no elements: the trace has ended; return it, or assign it to a"):
            read(kept[0])


def test_assignments_in_program_order(rng):
    p, g, m = (rng.random((5, 8), np.float32) for _ in range(3))
    expected_m = np.float32(0.5) * m + g
    expected_p = p - np.float32(0.25) * expected_m
    strided = np.zeros((5, 16), np.float32)[:, ::2]
    strided[...] = p
    with ep.lazy() as lazy:
        of_p, of_g, of_m = map(lazy.view, (strided, g, m))
        of_m[...] = 0.5 * of_m + of_g
        of_p[...] -= 0.25 * of_m
        of_m += 1.0
        assert lazy.explain().count("map kernel") == 1
    assert np.array_equal(strided, expected_p)
    assert np.array_equal(m, expected_m + 1)


def test_an_array_that_is_still_read_is_written_at_the_end(x):
    expected = x * 2 + ep.ops.sum(x, 0)
    with ep.lazy() as lazy:
        view = lazy.view(x)
        total = view.sum(0)
        view[...] = view * 2.0
        view[...] = view + total
    assert np.array_equal(x, expected)


def test_swapped_views(rng):
    a, b = rng.random(9), rng.random(9)
    before = a.copy(), b.copy()
    with ep.lazy() as lazy:
        of_a, of_b = lazy.view(a), lazy.view(b)
        kept = of_a + 0.0
        of_a[...] = of_b
        of_b[...] = kept
    assert np.array_equal(a, before[1])
    assert np.array_equal(b, before[0])


def test_what_a_block_refuses(x):
    def shift():
        with ep.lazy() as lazy:
            first, second = lazy.view(x[:-1]), lazy.view(x[1:])
            first[...] = second

    views = []

    def fail():
        with ep.lazy() as lazy:
            views.extend((lazy.view(x), lazy))
            views[0][...] = 3.0
            raise ZeroDivisionError

    before = x.copy()
    with pytest.raises(ValueError, match="view 0 is assigned to and overlaps view 1"):
        shift()
    with pytest.raises(ZeroDivisionError):
        fail()
    assert np.array_equal(x, before)
    with pytest.raises(RuntimeError, match="has ended"):
        views[0] + 1.0
    with pytest.raises(RuntimeError, match="has ended"):
        views[1].__enter__()


def test_values_between_are_not_rounded_but_casts_and_comparisons_are(rng):
    x = rng.random(1000, np.float32).astype(ep.DataType.kBFloat16.dtype)
    fused = ep.fuse(lambda x: x * x - x)
    wide = x.astype(np.float32)
    assert np.array_equal(fused(x), (wide * wide - wide).astype(x.dtype))
    casts = ep.fuse(lambda x: ep.ops.cast(x * x, "float32"))
    assert np.array_equal(casts(x), ep.ops.cast(ep.ops.mul(x, x), "float32"))
    compares = ep.fuse(lambda x: x * x == ep.ops.square(x))
    assert compares(x).all()
    each = ep.fuse(lambda x: x * x - x, round_each=True)
    assert np.array_equal(each(x), ep.ops.sub(ep.ops.mul(x, x), x))


def test_another_length_compiles_nothing(rng):
    from ep.cpu.compile.compiler import statistics

    fused = ep.fuse(lambda x, y: (x - y) * x)
    for count in (8, 9, 1000):
        x = rng.random((3, count))
        if count == 9:
            before = len(statistics.names)
        assert np.array_equal(fused(x, x[0]), (x - x[0]) * x)
    assert len(statistics.names) == before


def test_signs_of_numbers_that_were_computed_in_float64(rng):
    """copysign of such a number, rounded to float16, is a chain that LLVM compiles to calls of functions that may not
    exist.
    """
    x = np.linspace(0.1, 3, 40)
    of_zeta = ep.fuse(lambda x: ep.ops.atanh(ep.ops.zeta(x, x)), round_each=True)
    half = x.astype(np.float16)
    assert np.array_equal(of_zeta(half), ep.ops.atanh(ep.ops.zeta(half, half)), equal_nan=True)
    of_cast = ep.fuse(lambda x: ep.ops.cast(ep.ops.atanh(ep.ops.cast(x * 0.25, "float32")), "float16"))
    expected = ep.ops.cast(ep.ops.atanh(ep.ops.cast(x * 0.25, "float32")), "float16")
    assert np.array_equal(of_cast(x), expected)
