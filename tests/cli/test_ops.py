"""`ep ops` and `ep kernels`."""

import json

import pytest


def test_all_operators(ep):
    done = ep("ops")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[0].split() == ["operator", "family", "inputs", "attributes", "type", "of", "the", "result"]
    assert len({line.split()[0] for line in lines[1:]}) == len(lines) - 1 > 160
    names = [line.split()[0] for line in lines[1:]]
    backward = [name for name in names if "_backward_with_" in name]
    assert backward
    assert names[-len(backward) :] == backward  # after all that people look for
    (gather,) = (line for line in lines if line.startswith("gather "))
    attributes = "axis: int | None = None, batch_dims: int = 0, mode: IndexMode = 'raise'"
    assert " ".join(gather.split()) == f"gather gather params, indices {attributes} that of params"


def test_a_family(ep):
    assert [line.split()[0] for line in ep("ops", "--family", "join").out.splitlines()[1:]] == ["concat", "stack"]
    done = ep("ops", "--family", "joint")
    assert (done.code, done.out) == (2, "")
    assert "no operator is of the family 'joint'; the families are " in done.err


def test_one_operator(ep):
    out = ep("ops", "multiply").out
    assert "mul, multiply" in out
    assert "x (operand), y (operand)" in out
    assert "The primitive's op is kMul." in out
    assert "ep.ops.vjp gives it" in out
    assert "ep.ops.vjp" not in ep("ops", "less").out
    assert "primitive_exists(BroadcastElementwiseBinaryFactory, BinaryOp.kMul, data_type(" in out
    assert "'nansum' is not an operator\n" in ep("ops", "nansum").err  # "sum" is another function
    done = ep("ops", "gathr")
    assert done.code == 2
    assert "'gathr' is not an operator; did you mean 'gather'" in done.err


def test_a_function_that_is_made_of_operators(ep):
    for name in ("clip", "var", "linspace", "tensordot", "copy_to_host"):
        done = ep("ops", name)
        assert (done.code, done.err) == (0, "")
        assert f"{name}(" in done.out.splitlines()[0]
        assert len(done.out.splitlines()) > 3
        for command in ("kernels", "run", "sbp"):
            refused = ep(command, name)
            assert (refused.code, refused.out) == (2, "")
            assert f"'{name}' is not an operator; it is a function that is made of operators" in refused.err
    assert ep("ops", "roll").out.splitlines()[0].split(maxsplit=1)[1] == (
        "roll(x: ArrayLike, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array"
    )
    (described,) = json.loads(ep("ops", "clip", "--format", "json").out)
    assert described["function"] == "clip"
    assert described["meaning"]


def test_examples_of_the_help_are_on_lines_of_their_own(ep):
    lines = [line.strip() for line in ep("help", "ops").out.splitlines()]
    assert {"ep ops", "ep ops --family join", "ep ops gather"} <= {*lines}


def test_json(ep):
    (gather,) = ep("ops", "gather", "--format", "json").json()
    assert gather["inputs"] == [{"name": "params", "role": "tensor"}, {"name": "indices", "role": "indices"}]
    assert [kernel["kernel"] for kernel in gather["kernels"]] == ["GatherKernel", "BatchGatherKernel"]
    assert len(ep("ops", "--format", "json").json()) > 160


def test_kernels(ep):
    done = ep("kernels", "gather", "--dtype", "float16")
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines[0] == "gather on cpu: params kFloat16, indices kInt64, out kFloat16; GatherKernel"
    assert "GatherKernel, of priority 0 yes" in lines
    assert "BatchGatherKernel, of priority 0 no" in lines
    assert 'attribute("batch_dims") != 0 no attribute("batch_dims") is 0' in lines
    assert any(line.endswith("there is Gather(kFloat16, kInt64)") for line in lines)


def test_kernels_by_attributes_and_types(ep):
    found = ep(
        *("kernels", "gather", "--dtype", "indices=uint8", "--attribute", "batch_dims=2", "--format", "json")
    ).json()
    assert [(one["kernel"], one["matches"], one["chosen"]) for one in found] == [
        ("GatherKernel", False, False),
        ("BatchGatherKernel", True, True),
    ]
    assert found[1]["parts"][2]["why"] == "there is BatchGather(kFloat, kUInt8)"
    assert ep("kernels", "cast", "--attribute", "dtype=int8").out.startswith(
        "cast on cpu: x kFloat, out kInt8; CastKernel"
    )
    assert "condition kBool, x kFloat, y kFloat" in ep("kernels", "where").out


def test_no_kernel_matches(ep):
    done = ep("kernels", "exp", "--dtype", "int32")
    assert done.code == 1
    assert done.out.startswith("exp on cpu: x kInt32, out kInt32; no kernel matches\n")
    assert "its data types are not registered on cpu" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cast"], "kernels of cast ask for dtype: give --attribute dtype=VALUE"),
        (["gather", "--attribute", "batch_dims"], "must be a name and a value"),
        (["gather", "--attribute", "axis=1"], "do not ask for 'axis', but for batch_dims"),
        (["gather", "--dtype", "table=float16"], "gather has no input 'table'; it has params, indices"),
        (["gather", "--dtype", "float15"], "'float15' is not a data type; did you mean 'float16'"),
        (["cast", "--attribute", "dtype=int9"], "int9"),
    ],
)
def test_wrong_arguments(ep, arguments, words):
    done = ep("kernels", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
