"""Plans: the order of their steps, the memory of their values, what overlaps, and how they are shown."""

import weakref

import numpy as np
import pytest

import ep
from ep.common.arrays.on_device import arrays_on
from ep.include.arrays import RESULT, Placeholder
from ep.include.errors import ArgumentValueError
from ep.ops.declare.operator import operator_named
from ep.run.explanation import Explanation
from ep.run.plan import Plan
from ep.run.steps import Call, Check, Converted, Function, Launch, StepOrigin, Temporary, View

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
X, Y = Placeholder(0), Placeholder(1)


def add(stream, a, b, out):
    np.add(a, b, out=out)


def total(stream, parts, out):
    out[...] = sum(parts)


def spread(stream, x, outs):
    for k, out in enumerate(outs):
        out[...] = x + k


def take(stream, x, indices, out):
    out[...] = x[indices]


ADD, TOTAL, SPREAD, TAKE = map(Function, (add, total, spread, take))


def run(plan, inputs, outputs):
    plan(arrays_on(ep.DeviceType.kCPU), inputs, outputs)
    return outputs


def test_values_pass_from_step_to_step():
    t = Temporary((3,), INT)
    plan = Plan(Launch(ADD, X, Y, t), Launch(ADD, t, X, t), Launch(ADD, t, 10, RESULT))
    (out,) = run(plan, [np.arange(3), np.full(3, 5)], [np.zeros(3, int)])
    assert out.tolist() == [15, 17, 19]
    assert plan.steps[0].arguments == (X, Y, t)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2), (2, 0), (1,)])
def test_lists_of_operands_and_results(order):
    results = [Placeholder(None, k) for k in order]
    outputs = run(Plan(Launch(SPREAD, X, results)), [np.arange(2)], [np.full(2, -1) for _ in range(3)])
    expected = [[order.index(k), order.index(k) + 1] if k in order else [-1, -1] for k in range(3)]
    assert [one.tolist() for one in outputs] == expected
    inputs = [np.full(2, 10**k) for k in range(3)]
    (out,) = run(Plan(Launch(TOTAL, [Placeholder(k) for k in order], RESULT)), inputs, [np.zeros(2, int)])
    assert out.tolist() == [sum(10**k for k in order)] * 2


def test_lists_of_values_and_constants_that_are_no_neighbours():
    t, u = Temporary((2,), INT), Temporary((2,), INT)
    plan = Plan(
        Launch(SPREAD, X, [u, RESULT, t]),
        Launch(TOTAL, [t, np.full(2, 100), Y, u], Placeholder(None, 1)),
        Launch(Function(lambda stream, outs, parts: total(stream, parts, outs[0])), [RESULT], [u, Y, t]),
    )
    outputs = run(plan, [np.arange(2), np.full(2, 1000)], [np.zeros(2, int) for _ in range(2)])
    assert [one.tolist() for one in outputs] == [[1002, 1004], [1102, 1104]]


def test_a_method_that_the_first_launch_replaces():
    """A launch may put a faster method in the place of its own: later runs call it."""

    class Replaced:
        def Launch(self, stream, x, out):
            Replaced.Launch = lambda self, stream, x, out: np.add(x, 2, out=out)
            np.add(x, 1, out=out)

    plan = Plan(Launch(Replaced(), X, RESULT))
    assert [run(plan, [np.zeros(1, int)], [np.zeros(1, int)])[0].tolist() for _ in range(4)] == [[1], [2], [2], [2]]


def test_functions_are_steps():
    """They read operands, and write results: also as parts of other plans, between launches."""

    def fill(arrays, inputs, outputs):
        for k, out in enumerate(outputs):
            out[...] = sum(inputs, k)

    t, u = Temporary((2,), INT), Temporary((2,), INT)
    inner = Plan(Call(fill, [X, Y], [t, RESULT]), Launch(ADD, t, RESULT, RESULT), Call(fill, [], [t]))
    plan = Plan(inner.of([Y, X], u), Launch(ADD, u, 1000, RESULT), copy=Launch(ADD, X, 0, RESULT))
    inputs = [np.array([1, 2]), np.array([10, 20])]
    (out,) = run(plan, inputs, [np.zeros(2, int)])
    assert out.tolist() == [2 * 11 + 1001, 2 * 22 + 1001]
    assert run(plan, inputs, inputs[:1])[0].tolist() == out.tolist()


def test_views_of_operands_temporaries_and_results():
    t = Temporary((2, 3), INT)
    rows = [View(t, places=(k, slice(None))) for k in (1, 0)]
    plan = Plan(
        Launch(ADD, View(X, (2, 3)), 1, t),
        Launch(TOTAL, [*rows, View(Y, axes=(None, 0), shape=(1, 3))], View(RESULT, (1, 3))),
    )
    (out,) = run(plan, [np.arange(6), np.full(3, 100)], [np.zeros(3, int)])
    assert out.tolist() == [105, 107, 109]


def test_memory_is_returned_after_the_last_use():
    seen = []

    def note(stream, x, out):
        seen.append(weakref.ref(x.base if x.base is not None else x))
        out[...] = x

    def look(stream, x, out):
        out[...] = [one() is not None for one in seen]

    first, second = Temporary((2,), INT), Temporary((1, 2), INT)
    plan = Plan(
        Launch(ADD, X, 0, first),
        Launch(ADD, X, 0, second),
        Launch(Function(note), first, RESULT),
        Launch(Function(note), View(second, (2,)), RESULT),
        Launch(Function(look), X, RESULT),
        Launch(Function(look), second, Y),
    )
    other = np.zeros(2, int)
    (out,) = run(plan, [np.arange(2), other], [np.zeros(2, int)])
    assert (out.tolist(), other.tolist()) == ([0, 1], [0, 1])


def test_indices_are_checked_before_a_result_is_written():
    indices = np.array([1, -3, 0])
    plan = Plan(Check(Y, 3, "wrap_negative"), Launch(ADD, 1, 1, RESULT))
    assert run(plan, [np.arange(3), indices], [np.zeros(3, int)])[0].tolist() == [2] * 3
    out = np.zeros(3, int)
    with pytest.raises(IndexError, match=r"indices\[1\] is -4"):
        run(plan, [np.arange(3), indices - (indices == -3)], [out])
    assert out.tolist() == [0] * 3
    found = Check(Y, 3, "wrap_negative", {"indices": "rows"})
    plan = Plan(Launch(TAKE, X, found, RESULT))
    assert run(plan, [np.arange(3), indices], [np.zeros(3, int)])[0].tolist() == [1, 0, 0]
    with pytest.raises(IndexError, match=r"rows\[0\] is 3"):
        run(plan, [np.arange(3), indices + 2], [out])
    assert run(plan, [np.arange(3), indices[:0]], [np.zeros(0, int)])[0].size == 0


def test_errors_have_the_names_of_a_step():
    def refuse(stream, src, dst):
        raise ArgumentValueError("src", "is wrong")

    plan = Plan(Launch(Function(refuse), X, RESULT), Launch(Function(refuse), X, RESULT, names={"src": "dy"}))
    for names, steps in (("src", plan.steps[:1]), ("dy", plan.steps[1:]), ("dy", Plan(*plan.steps[1:]).of([X]).steps)):
        with pytest.raises(ValueError, match=f"^{names} is wrong"):
            run(Plan(*steps), [np.zeros(1)], [np.zeros(1)])


def one_by_one(stream, x, y, out):
    """Write each sum after the one before, also where the result is an operand."""
    out[0] = x[0] + y[0]
    for k in range(1, x.size):
        out[k] = out[k - 1] + x[k] * y[k - 1]


@pytest.mark.parametrize("late", [None, (1,)])
def test_results_that_share_memory_with_late_operands_are_copied(late):
    plan = Plan(Launch(Function(one_by_one), X, Y, RESULT), copy=Launch(ADD, X, 0, RESULT), late=late)
    memory = np.arange(1, 8)
    x, y = memory[:4].copy(), memory[3:7].copy()
    (expected,) = run(plan, [x, y], [np.zeros(4, int)])
    for out in (slice(0, 4), slice(2, 6), slice(3, 7)):
        used = memory.copy()
        given = [x, used[3:7]] if late else [used[:4], used[3:7]]
        (found,) = run(plan, given, [used[out]])
        assert found.tolist() == expected.tolist()


def test_a_plan_is_a_part_of_another_one():
    t = Temporary((2,), INT)
    inner = Plan(Launch(ADD, View(X, (2,)), Y, t), Launch(ADD, t, t, RESULT))
    outer = Temporary((2,), INT)
    plan = Plan(inner.of([Y, X], outer), inner.of([outer, Y], RESULT), Launch(ADD, RESULT, 1, RESULT))
    (out,) = run(plan, [np.array([1, 2]), np.array([10, 20])], [np.zeros(2, int)])
    assert out.tolist() == [2 * (2 * 11 + 10) + 1, 2 * (2 * 22 + 20) + 1]
    assert len({one for step in plan.steps for one in step.arguments if isinstance(one, Temporary)}) == 3


def test_no_steps_write_nothing():
    assert run(Plan(), [], [np.ones(1)])[0].tolist() == [1]
    assert str(Plan()) == ""


def made(shape=(2, 3), constant=0.5, names=None, mode="raise", swapped=False, places=(0, slice(1, 2)), late=(1,)):
    """Return a new plan, on new values, of the same primitives."""
    t, u = Temporary(shape, FLOAT), Temporary(shape, FLOAT)
    read = [u, t] if swapped else [t, u]
    return Plan(
        Check(Y, 4, mode, names),
        Launch(ADD, View(X, shape), constant, t),
        Launch(Function(add), t, t, u),
        Launch(TOTAL, read, View(RESULT, places=places), names={"parts": "x"}),
        Call(add, [Converted(X), np.float32], [t], returns=True),
        copy=Launch(ADD, X, 0, RESULT),
        late=late,
    )


def test_equal_plans_are_one_key():
    plan = made()
    assert plan == made()
    assert hash(plan) == hash(made())
    assert {plan: 1}[made()] == 1
    assert Plan(*plan.steps) == Plan(*plan.steps).of([X, Y], RESULT) == Plan(plan)
    assert plan != plan.steps
    assert Plan() == Plan()


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (3, 2)},
        {"constant": 1.5},
        {"names": {"indices": "rows"}},
        {"mode": "clip"},
        {"swapped": True},
        {"places": (0, slice(1, 3))},
        {"late": None},
    ],
    ids=str,
)
def test_plans_that_differ_in_anything_are_unequal(change):
    assert made(**change) != made()
    assert made(**change) == made(**change)
    assert len({made(), made(**change)}) == 2


@pytest.mark.parametrize(
    "pair", [(0.0, -0.0), (1, 1.0), (1, True), ((1, 2), [1, 2]), (np.ones(2), np.ones(2))], ids=str
)
def test_constants_that_only_compare_equal_make_other_plans(pair):
    one, other = (made(constant=constant) for constant in pair)
    assert one != other
    assert one == made(constant=pair[0])
    assert made(constant=float("nan")) == made(constant=float("nan"))


def test_which_values_steps_share_is_part_of_a_plan():
    def steps(of_second, of_third):
        t = [Temporary((2,), INT) for _ in range(2)]
        return Plan(Launch(ADD, X, Y, t[0]), Launch(ADD, X, Y, t[of_second]), Launch(ADD, t[of_third], X, RESULT))

    plans = [steps(*numbers) for numbers in ((0, 0), (1, 0), (1, 1))]
    assert len({*plans, *(steps(*numbers) for numbers in ((0, 0), (1, 0), (1, 1)))}) == 3
    view = View(X, (2,))
    shared = Plan(Launch(ADD, view, view, RESULT))
    assert shared != Plan(Launch(ADD, View(X, (2,)), View(X, (2,)), RESULT))


def test_plans_of_an_operator_are_equal_if_they_launch_the_same():
    softmax = operator_named("softmax")
    x = np.zeros((5, 3), np.float32)
    plans = [softmax.prepare(ep.DeviceType.kCPU, [x], {"axis": axis}) for axis in (0, 0, 1)]
    assert plans[0] == plans[1] != plans[2]
    assert plans[0] is not plans[1]


def test_plans_and_steps_are_never_changed():
    plan, t = made(), Temporary((2,), INT)
    changed = [(t, "shape"), (View(t), "source"), (plan.steps[0], "size"), (plan.steps[1], "arguments")]
    for one, name in (*changed, (plan.steps[4], "returns"), (plan, "steps"), (Converted(t), "source"), (ADD, "Launch")):
        with pytest.raises(AttributeError):
            setattr(one, name, None)


def test_a_plan_is_shown():
    t = Temporary((2, 3), FLOAT)
    plan = Plan(
        Check(Y, 4, "raise"),
        Launch(ADD, View(X, (2, 3)), 0.5, t),
        Launch(TOTAL, [t, X], View(RESULT, places=(0, slice(1, 2)))),
        Launch(SPREAD, Check(Y, 4, "clip"), [RESULT, Placeholder(None, 1)]),
    )
    assert str(plan).splitlines() == [
        "c0 = check(x1, 4, 'raise')",
        "v1 = view(x0, (2, 3))",
        "t2 = empty((2, 3), float64)",
        "add(v1, 0.5, t2)",
        "v3 = view(out, (0, slice(1, 2, None)), None, None)",
        "total([t2, x0], v3)",
        "c4 = check(x1, 4, 'clip')",
        "spread(c4, [out, out1])",
    ]


@pytest.mark.parametrize(
    ("name", "attributes", "shown"),
    [
        ("relu", {}, "ElementwiseUnary.kRelu(x0, out, 15)"),
        ("sum", {"axis": 0}, "Reduce.kSum((5, 3), x0, (0,), out)"),
        ("permute", {"axes": (1, 0)}, "Permute(float32, (5, 3), x0, (1, 0), out)"),
    ],
)
def test_launches_show_the_primitive_and_its_op(name, attributes, shown):
    operator, x = operator_named(name), np.zeros((5, 3), np.float32)
    assert str(operator.prepare(ep.DeviceType.kCPU, [x], operator.resolve(x, **attributes))) == shown


def test_the_plan_of_an_operator_is_shown():
    softmax, x = operator_named("softmax"), np.zeros((5, 3), np.float32)
    plan = softmax.prepare(ep.DeviceType.kCPU, [x], {"axis": 0})
    assert [line.partition("(")[0].rpartition(".")[2] for line in str(plan).splitlines()] == [
        "t0 = empty",
        "Permute",
        "Softmax",
        "Permute",
    ]


def test_any_plan_is_explained():
    """Without a trace: that of an operator, and one that is written here."""
    softmax, x = operator_named("softmax"), np.zeros((5, 3), np.float32)
    plan = softmax.prepare(ep.DeviceType.kCPU, [x], {"axis": 0})
    given = {Placeholder(0): x, RESULT: x}
    said = Explanation(plan.steps, given)
    assert said.splitlines()[0] == "0: Permute, Softmax, Permute; reads 60 bytes, writes 60"
    assert [line.strip() for line in said.splitlines()[1:]] == str(plan).splitlines()
    of_parts = plan.of(
        [X], t := Temporary((5, 3), np.dtype(np.float32)), origin=StepOrigin("softmax", ["alone: it is"])
    )
    copied = Launch(ADD, View(t, (15,), origin=StepOrigin("reshape")), View(RESULT, (15,)), origin=StepOrigin("copy"))
    said = Explanation([*of_parts.steps, copied], given, names={X: "x"})
    assert [line for line in said.splitlines() if line[0] != " "] == [
        "0: operator of softmax; reads 60 bytes, writes 60",
        "1: view of reshape; reads 0 bytes, writes 0",
        "2: operator of copy; reads 60 bytes, writes 60",
    ]
    assert "   alone: it is" in said.splitlines()
    assert said.svg().count("<rect") == 2 + 3 * 3  # the page, x, and each part with what it reads and computes
    assert of_parts == plan.of([X], t)
