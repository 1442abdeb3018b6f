"""concat, stack, split and slice."""

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep import DeviceType
from ep.include.primitive import CopyNdFactory
from ep.testing.keys import needs_one_of
from tests.profiles import calls_of

pytestmark = needs_one_of(CopyNdFactory)


def numbers(shape, dtype=np.int32, first=0):
    return (first + np.arange(np.prod(shape))).reshape(shape).astype(dtype)


def same(result, expected):
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, ml_dtypes.bfloat16, np.float64, np.complex128])
def test_concat(operate, axis, dtype):
    shapes = [[2, 3, 5] for _ in range(3)]
    for size, shape in zip((4, 0, 1), shapes, strict=True):
        shape[axis] = size
    arrays = [numbers(shape, dtype, 7 * place) for place, shape in enumerate(shapes)]
    same(operate("concat", arrays, axis), np.concatenate(arrays, axis))


def test_concat_of_flat_arrays(operate):
    arrays = [numbers(()), numbers((2, 3), first=1), numbers(0), numbers((1, 1, 4), first=50)]
    same(operate("concat", arrays, None), np.concatenate(arrays, None))
    same(operate("concat", arrays[1:2]), arrays[1])
    many = [numbers((2,) * 10), numbers((2,) * 10, first=5000)]
    same(operate("concat", many, 4), np.concatenate(many, 4))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_stack(operate, axis):
    arrays = [numbers((3, 5), np.float32, 20 * place) for place in range(4)]
    same(operate("stack", arrays, axis), np.stack(arrays, axis))


def test_stack_of_small_arrays(operate):
    same(operate("stack", [numbers(()), numbers((), first=3)]), np.array([0, 3], np.int32))
    same(operate("stack", [numbers((0, 2))] * 3, 1), np.zeros((0, 3, 2), np.int32))


@pytest.mark.parametrize(
    ("shape", "sections", "axis"),
    [
        ((6, 5), 3, 0),
        ((6, 5), 5, -1),
        ((6, 5), 1, 0),
        ((6, 5), [2, 3], 0),
        ((6, 5), (4,), 1),
        ((6, 5), [3, 1, 9], 0),
        ((6, 5), [-2], 0),
        ((6, 5), [np.int8(1), 4], 1),
        ((7,), [], 0),
        ((0, 3), 2, 0),
        ((2, 4, 3), 2, 1),
    ],
    ids=str,
)
def test_split(operate, shape, sections, axis):
    x = numbers(shape)
    parts, expected = operate("split", x, sections, axis), np.split(x, sections, axis)
    assert len(parts) == len(expected)
    for part, of_numpy in zip(parts, expected, strict=True):
        same(part, of_numpy)


_ = slice(None)
SLICES = [
    ((6, 5, 4), (slice(1, 5), slice(2, 3), slice(0, 4))),
    ((6, 5, 4), (slice(2, None),)),
    ((6, 5, 4), (None, (1, -1))),
    ((6, 5, 4), (_, _, slice(-3, 99))),
    ((6, 5, 4), (slice(4, 2),)),
    ((6, 5, 4), ()),
    ((6, 5, 4), (slice(None, None, 2), _, slice(1, None, 3))),
    ((6, 5, 4), (slice(1, 6, 4), (None, None, 5))),
    ((6, 5, 4), (slice(9, None, 2),)),
    ((0, 3), (slice(None, None, 2),)),
    ((), ()),
    ((2, 2, 1, 3, 1, 2, 1, 2, 2), (None, (1, 2), None, (0, 2))),
    ((2, 2, 1, 3, 1, 2, 1, 2, 2), (None, (1, 2), None, (0, 3, 2))),
]


@pytest.mark.parametrize(("shape", "slices"), SLICES, ids=str)
def test_slice(on_device, shape, slices):
    x = numbers(shape)
    key = tuple(_ if one is None else slice(*one) if isinstance(one, tuple) else one for one in slices)
    same(ep.ops.copy_to_host(ep.ops.slice(on_device(x), *slices)), x[key])


def test_slice_to_out(on_device):
    x, out = on_device(numbers((4, 6))), on_device(np.zeros((2, 3), np.int32))
    for slices in (((1, 3), (2, 5)), ((0, 4, 2), (1, None, 2))):
        assert ep.ops.slice(x, *slices, out=out) is out
        assert np.array_equal(ep.ops.copy_to_host(out), numbers((4, 6))[tuple(slice(*one) for one in slices)])


@pytest.fixture
def on_the_cpu(device):
    """Run a test of views and overlap, for which it needs NumPy's arrays, only on the CPU."""
    if device.type is not DeviceType.kCPU:
        pytest.skip("it is about ndarrays")


def test_results_are_no_views(on_the_cpu):
    x = np.arange(6.0)
    for result in (ep.ops.slice(x), ep.ops.concat([x]), ep.ops.split(x, 1)[0], ep.ops.stack([x])):
        assert not np.shares_memory(result, x)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "message"),
    [
        ("concat", ([],), ValueError, "arrays is empty"),
        ("concat", (3,), TypeError, "arrays must be a sequence of arrays, not int"),
        ("concat", ([[1], [2.0]],), TypeError, r"arrays\[1\] has dtype float64, arrays\[0\] has int64; convert one"),
        (
            "concat",
            ([[[1]], [[1, 2]]],),
            ValueError,
            r"arrays\[1\] has shape \(1, 2\), arrays\[0\] has \(1, 1\); they may",
        ),
        ("concat", ([[1], [[2]]],), ValueError, r"arrays\[1\] has shape \(1, 1\), arrays\[0\] has \(1,\)"),
        ("concat", ([[1]], 1), ValueError, "axis is 1; it must be -1 ... 0"),
        ("concat", ([1, 2],), ValueError, "axis is 0; there are no axes"),
        (
            "stack",
            ([[1], [1, 2]],),
            ValueError,
            r"arrays\[1\] has shape \(2,\), arrays\[0\] has \(1,\); they must be equal",
        ),
        ("stack", ([[1]], 2), ValueError, "axis is 2; it must be -2 ... 1"),
        ("split", ([1, 2, 3], 2), ValueError, "indices_or_sections is 2, and the axis has 3 elements: no equal parts"),
        ("split", ([1, 2, 3], 0), ValueError, "indices_or_sections is 0"),
        ("split", ([1, 2, 3], 1.0), TypeError, "indices_or_sections must be an integer"),
        ("split", ([1, 2, 3], [1.0]), TypeError, r"indices_or_sections\[0\] must be an integer"),
        (
            "slice",
            ([1, 2], 0),
            TypeError,
            r"slices\[0\] must be a slice, a tuple of 2 or 3 integers, None or `...`, not 0",
        ),
        ("slice", ([1, 2], None, None), ValueError, "there are 2 slices for the 1 axes of x"),
        ("slice", ([1, 2], ..., None, None), ValueError, "there are 2 slices for the 1 axes of x"),
        ("slice", ([[1, 2]], ..., ...), ValueError, "slices has 2 times `...`, which may be there once"),
        ("slice", ([[1, 2]], ..., 2), TypeError, r"slices\[1\] must be a slice"),
        ("slice", ([1, 2], slice(None, None, -1)), ValueError, r"slices\[0\] has the step -1; it must be 1 at least"),
        ("slice", ([1, 2], (0, 2, 0)), ValueError, r"slices\[0\] has the step 0; it must be 1 at least"),
        ("slice", ([1, 2], (0.5, 2)), TypeError, r"slices\[0\] must be an integer, not 0.5"),
    ],
)
def test_refusals(name, arguments, kind, message):
    with pytest.raises(kind, match=message):
        getattr(ep.ops, name)(*arguments)


def test_overlap(on_the_cpu):
    x = np.arange(8.0)
    with pytest.raises(ValueError, match="out overlaps x"):
        ep.ops.slice(x, (0, 4), out=x[2:6])


@pytest.mark.parametrize("axis", [0, 1])
def test_many_arrays_take_no_more_steps_of_python_than_a_few(axis):
    """There is neither a launch nor a function call for each array."""

    def calls(count):
        arrays = [numbers((3, 4), np.float32, place) for place in range(count)]
        for join in (ep.ops.concat, ep.ops.stack):
            join(arrays, axis)
        return calls_of(lambda: ep.ops.concat(arrays, axis)) + calls_of(lambda: ep.ops.stack(arrays, axis))

    assert calls(500) == calls(80) < 120


def test_many_parts_take_few_steps_of_python():
    x = numbers((4, 1000))
    for _ in range(2):  # the second call decides how later ones are done
        ep.ops.split(x, 500, 1)
    assert calls_of(lambda: ep.ops.split(x, 500, 1)) < 500 * 3 + 60


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_many_arrays_large_and_small(operate, rng, axis):
    """Some arrays are moved by one thread each, several at once; others are shared among threads."""
    sizes = [int(size) for size in rng.integers(0, 9, 90)]
    shapes = [tuple(size if place == (axis or 0) else (5, 3, 2)[place] for place in range(3)) for size in sizes]
    arrays = [numbers(shape, np.int32, 50 * place) for place, shape in enumerate(shapes)]
    arrays[40] = numbers(tuple(4000 if place == (axis or 0) else (5, 3, 2)[place] for place in range(3)))
    same(operate("concat", arrays, axis), np.concatenate(arrays, axis))


@pytest.mark.parametrize("cuts", [[2, 5, 5, 9], [9, 2, 30], [-3, 4], [50, 60]])
def test_parts_that_do_not_lie_side_by_side(operate, cuts):
    x = numbers((3, 20, 2))
    results, expected = operate("split", x, cuts, 1), np.split(x, cuts, 1)
    for result, want in zip(results, expected, strict=True):
        same(result, want)
