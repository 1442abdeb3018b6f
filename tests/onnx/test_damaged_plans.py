"""Files of plans that are damaged, of other graphs or of other versions: they are refused, and made anew."""

import json
import logging
from types import SimpleNamespace

import numpy as np
import pytest

from ep import DeviceType
from ep.common.arrays.on_device import arrays_on
from ep.common.kernel_cache.container import pack
from ep.common.kernel_cache.headed import DamagedError, record_of, with_header
from ep.common.plans import stored_plan
from ep.cpu.device_manager import CACHE
from ep.cpu.engine.repeat.image_header import ImageHeader
from ep.onnx.stored import key_of
from tests.onnx.kept import loaded, run_once
from tests.onnx.test_models import model_of

WRONG = (-1, 1.5, True, None, "x", [], {}, [3, "x"])
BEYOND = 2**62


@pytest.fixture
def kept(tmp_path, rng):
    """Return the path of a model whose plan is on disk, its inputs and outputs, and the file of the plan."""
    table, places = rng.standard_normal((13, 5), np.float32), rng.integers(0, 13, 9)
    large = rng.standard_normal((5, 211), np.float32)
    nodes = [("Gather", ["places", "i"], ["j"]), ("Gather", ["t", "j"], ["g"]), ("Transpose", ["l"], ["u"])]
    nodes += [("MatMul", ["g", "l"], ["m"]), ("MatMul", ["m", "u"], ["p"]), ("Relu", ["p"], ["y"])]
    constants = [("t", table), ("places", places), ("l", large)]
    model = model_of(nodes, [("i", (7,), 7)], [("y", (7, 5)), ("g", (7, 5))], constants)
    given = {"i": rng.integers(0, 9, 7)}
    path, made, is_read = run_once(tmp_path, model, given)
    expected = made(**given)
    assert not is_read()
    (file,) = CACHE.folder().glob(f"launches.{made._source.digest}-*.plan")
    return path, given, expected, file


def found(path, given):
    """Return the outputs that the plan on disk computes; None if it is refused."""
    model, _ = loaded(path)
    new = SimpleNamespace(outputs=lambda *_: None, holds={})
    return model._stored.plan(key_of(model._all, given), lambda keep: new).outputs(arrays_on(DeviceType.kCPU), given)


def are_equal(some, others):
    return some is not None and all(map(np.array_equal, some, others))


def damaged(rng, contents):
    """Return other contents: with other bytes, without some, with more, or with some at another place."""
    one, other = sorted(rng.integers(0, len(contents), 2).tolist())
    how = rng.integers(0, 6)
    if how == 0:
        return contents[:one] + bytes([contents[one] ^ (1 << rng.integers(0, 8))]) + contents[one + 1 :]
    if how == 1:
        return contents[:one]
    if how == 2:
        return contents[:one] + contents[other + 1 :]
    if how == 3:
        return contents[:one] + rng.bytes(other - one + 1) + contents[other + 1 :]
    if how == 4:
        return contents[:one] + rng.bytes(8) + contents[one:]
    return contents[other:] + contents[:other] if other else contents[:-1]


def test_thousands_of_damages_are_refused(kept, rng, caplog):
    path, given, expected, file = kept
    contents = file.read_bytes()
    caplog.set_level(logging.ERROR)
    for _ in range(3000):
        file.write_bytes(damaged(rng, contents))
        assert CACHE.read(file.name, stored_plan.unpacked) is None
    for _ in range(8):
        file.write_bytes(damaged(rng, contents))
        for is_whole in (False, True):
            again, is_read = loaded(path)
            assert are_equal(again(**given), expected)
            assert is_read() is not is_whole
        assert CACHE.read(file.name, stored_plan.unpacked) is not None


def test_a_plan_of_another_graph_is_refused(kept, tmp_path, rng):
    path, given, expected, file = kept
    x = rng.standard_normal((3, 5), np.float32)
    (tmp_path / "other").mkdir()
    model = model_of([("Relu", ["x"], ["y"])], [("x", (3, 5))], [("y", (3, 5))])
    _, other, _ = run_once(tmp_path / "other", model, {"x": x})
    (another,) = CACHE.folder().glob(f"launches.{other._source.digest}-*.plan")
    file.write_bytes(another.read_bytes())
    assert found(path, given) is None
    CACHE.write(file.name, another.read_bytes()[len(pack("", b"")) :])  # under its own name
    assert found(path, given) is None
    assert are_equal(loaded(path)[0](**given), expected)
    assert are_equal(found(path, given), expected)


def places_in(value, path=()):
    """Yield the path of each value in a value of JSON."""
    if path:
        yield path
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places_in(one, (*path, key))


def replaced(value, path, new):
    """Return a value of JSON with another one at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.ep_long
def test_each_field_of_a_header_is_checked(kept):
    """With the digest of the damaged contents: the reader refuses fields of other types, and what is out of range."""
    path, given, expected, file = kept
    header, image, own = CACHE.read(file.name, stored_plan.unpacked)
    begin = 8 + int.from_bytes(image[:8], "little")
    inner, rest, outer = json.loads(image[8:begin]), image[begin:], json.loads(json.dumps(header))

    def is_refused(header, inner):
        made = with_header(inner, rest)
        sizes = [len(made) if one == len(image) and k == 4 else one for k, one in enumerate(header)]
        CACHE.write(file.name, with_header(sizes, made, own))
        outputs = found(path, given)
        assert outputs is None or are_equal(outputs, expected)
        return outputs is None

    assert not is_refused(outer, inner)
    names, before_of, count = ImageHeader._fields, {True: outer, False: inner}, 0
    assert {names[one[0]] for one in places_in(inner)} == {*names}
    for is_outer in (True, False):
        for where in places_in(before_of[is_outer]):
            before = before_of[is_outer]
            for key in where:
                before = before[key]
            has_range = type(before) is int and (is_outer or names[where[0]] in ("words", "functions", "addresses"))
            for wrong in (*WRONG, *[BEYOND] * has_range):
                if type(wrong) is type(before) and wrong not in (-1, "x", BEYOND):
                    continue  # of the same type
                new = replaced(before_of[is_outer], where, wrong)
                refused = is_refused(*((new, inner) if is_outer else (outer, new)))
                assert refused or wrong == BEYOND, (where, wrong)  # a constant in memory needs no place
                count += 1
    assert count > 300
    assert not is_refused(outer, inner)


def test_signatures_that_are_damaged(kept):
    path, given, expected, _ = kept
    model, is_read = loaded(path)
    assert not is_read()
    (file,) = CACHE.folder().glob(f"inputs.{model._source.digest}-*.plan")
    contents, signatures = file.read_bytes(), (model.inputs, model.outputs)
    for wrong in (b"", b"[]", b"[" * 10**5, b'[[["i", "kFloat"]], []]', b'[[["i", "x", [7]]], [], {}]', b"[[], [], 3]"):
        CACHE.write(file.name, wrong)
        again, is_read = loaded(path)
        assert is_read()
        assert (again.inputs, again.outputs) == signatures
        assert are_equal(again(**given), expected)
    file.write_bytes(contents)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, b"-1"),
        (int, b"true"),
        (str, b"1"),
        (tuple[int, ...], b"[1, 2.0]"),
        (tuple[int, str], b"[1]"),
        (tuple[int, str], b"{}"),
        (dict[str, int], b'{"a": -1}'),
        (int | tuple[int, int], b"[1, 2, 3]"),
        (int | None, b'"x"'),
        (bool, b"1"),
        (int, b"1 2"),
        (int, b"\xff"),
        (int, b"[" * 10**5),
    ],
)
def test_values_that_are_not_of_a_type(kind, text):
    with pytest.raises(DamagedError):
        record_of(kind, text)


def test_values_that_are():
    assert record_of(tuple[int, ...], b"[1, 2]") == (1, 2)
    assert record_of(int | tuple[int, str] | None, b'[1, "x"]') == (1, "x")
    assert record_of(int | None, b"null") is None
    header = stored_plan.Header(("i",), (((3,), "kFloat"),), ((0, (3,)),), (), 5)
    assert record_of(stored_plan.Header, json.dumps(header).encode()) == header
