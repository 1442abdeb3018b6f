"""`ep list`: formats, filters, and modules that it does not import."""

import csv
import io

import pytest

from ep.include.primitive import registered
from tests.subprocesses import run


def test_json_is_the_registry(ep):
    assert ep("list", "--format", "json").json() == [
        {
            "primitive": entry.interface.__name__,
            "op": entry.op and entry.op.name,
            "dtypes": [data_type.name for data_type in entry.dtypes],
            "device": entry.device_type.tag,
        }
        for entry in registered()
    ]


def test_json_of_one_key(ep):
    done = ep("list", "--format", "json", "--op", "kRelu", "--dtype", "kFloat", "--primitive", "ElementwiseUnary")
    expected = {"primitive": "ElementwiseUnary", "op": "kRelu", "dtypes": ["kFloat", "kFloat"]}
    assert done.json() == [expected | {"device": device} for device in ("cpu", "cuda")]


def test_csv_is_the_registry_too(ep):
    header, *rows = csv.reader(io.StringIO(ep("list", "--format", "csv").out))
    assert header == ["primitive", "op", "dtypes", "device"]
    assert rows == [
        [row["primitive"], row["op"] or "", " ".join(row["dtypes"]), row["device"]]
        for row in ep("list", "--format", "json").json()
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--op", "kFastGelu"], ["--op", "fast_gelu"]),
        (["--op", "krelu"], ["--op", "RELU"]),
        (["--dtype", "kFloat"], ["--dtype", "float32"]),
        (["--dtype", "kBFloat16"], ["--dtype", "bfloat16"]),
        (["--primitive", "BroadcastBinary"], ["--primitive", "broadcast_elementwise_binary"]),
        (["--device", "cpu"], ["--device", "kCPU"]),
        (["--device", "cpu", "--device", "cuda"], []),
    ],
)
def test_names(ep, one, other):
    found = ep("list", "--format", "json", *one)
    assert found.code == 0
    assert found.json()
    assert found == ep("list", "--format", "json", *other)


def test_filters_join(ep):
    keys = ep("list", "--format", "json", "--op", "relu", "--op", "sub", "--dtype", "int8", "--dtype", "int16").json()
    assert {(key["op"], key["dtypes"][0]) for key in keys} == {
        (op, data_type) for op in ("kRelu", "kSub") for data_type in ("kInt8", "kInt16")
    }


def test_dtype_in_any_position(ep):
    keys = ep("list", "--format", "json", "--op", "is_nan", "--dtype", "bool").json()
    assert keys
    assert all(key["dtypes"][1] == "kBool" != key["dtypes"][0] for key in keys)


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_nothing_fits(ep, form):
    done = ep("list", "--primitive", "Expand", "--op", "relu", "--format", form)
    assert done.code == 0
    assert done.err == "ep list: nothing is registered that fits\n"
    assert done.out == {"json": "[]\n", "csv": "primitive,op,dtypes,device\n", "table": ""}[form]


def test_table(ep):
    ops = "--op", "relu", "--op", "real", "--op", "isnan"
    lines = ep("list", "--primitive", "ElementwiseUnary", *ops, "--device", "cpu").out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["ElementwiseUnary", op, "cpu"] for op in ("kRelu", "kIsNan", "kReal")
    ]
    assert lines[1].endswith("kFloat16 kBFloat16 kFloat kDouble")
    assert lines[2].endswith("kDouble -> kBool")
    assert lines[3].endswith("kComplex64 kComplex128 -> kFloat16 kBFloat16 kFloat kDouble")
    assert " by " in ep("list", "--primitive", "gather").out


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_imports(form):
    code = f"import sys\nfrom ep.cli.main import main\nassert main(['list', '--format', {form!r}]) == 0\n"
    run(f"{code}assert not {{'numba', 'llvmlite', 'rich', 'ep.bench', 'ep.ops'}} & set(sys.modules)")
