"""Models of one node for the cases of a record, and the comparison of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from onnx import ModelProto, helper, numpy_helper

import ep.onnx
from ep.common.arrays.on_device import arrays_on
from ep.include.device_type import DeviceType
from tests.onnx.operators import served
from tests.onnx.operators.record import Draw, Output, Record, Refused

NDArray = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A model of one node, the inputs that it gets, and the results that it must have, or the error.

    found: takes all inputs of the node, and returns the results that it must have with them. drawn: these inputs.
    fixed: the numbers of those that are sizes and the like. finite: as in Record.
    """

    model: ModelProto
    inputs: dict[str, NDArray]
    expected: list[tuple[NDArray, np.dtype[Any], Any]] | Refused
    ulps: float
    shown: str
    found: Callable[[Sequence[Any]], Any]
    drawn: Sequence[Any]
    fixed: Sequence[int]
    finite: Sequence[int]

    def changed(self, rng: np.random.Generator) -> Case:
        """Return the case with the numbers of each floating-point input in another order, some of them NaN."""
        drawn = [*self.drawn]
        for k, one in enumerate(drawn):
            if f"in{k}" in self.inputs and k not in self.fixed and one.dtype.kind not in "iub" and one.size:
                drawn[k] = rng.permutation(one.reshape(-1)).reshape(one.shape)
                if rng.random() < 0.3 and k not in self.finite:
                    drawn[k].reshape(-1)[int(rng.integers(one.size))] = np.nan
        inputs = {name: drawn[int(name.removeprefix("in"))] for name in self.inputs}
        return self._replace(inputs=inputs, drawn=drawn, expected=self.found(drawn))


def draws(record: Record, since: int, dtype: str, rng: np.random.Generator) -> Draw:
    """Return what draws the cases of a version and a type of an operator."""
    return Draw(
        rng, since, np.dtype(getattr(ml_dtypes, dtype, dtype)), served.types(served.schemas(record.name)[since])
    )


def case_of(record: Record, draw: Draw, opset: int | None = None) -> Case:
    """Return a random case. opset: of the model; a random one of the version if it is None."""
    opset = int(draw.rng.choice(served.opsets(record.name, draw.since))) if opset is None else opset
    with np.errstate(all="ignore"):
        return _case(record, draw, opset)


def _case(record: Record, draw: Draw, opset: int) -> Case:
    schema = served.schemas(record.name)[draw.since]
    inputs, attributes = record.draw(draw)
    attributes = {name: one for name, one in attributes.items() if one is not None}
    defaults = {
        name: helper.get_attribute_value(one.default_value)
        for name, one in schema.attributes.items()
        if one.default_value.type
    }
    defaults = {name: one.decode() if isinstance(one, bytes) else one for name, one in defaults.items()}
    told = {
        name: one for name, one in attributes.items() if not (one == defaults.get(name) and draw.maybe(f"told {name}"))
    }

    def results(inputs: Sequence[Any]) -> Any:
        draw.drawn = inputs
        try:
            with np.errstate(all="ignore"):
                found = record.reference(draw, *map(_wide, inputs), **{**defaults, **attributes})
        except Refused as error:
            return error
        several = found if isinstance(found, tuple) and not isinstance(found, Output) else (found,)
        outputs = [one if isinstance(one, Output) else Output(one) for one in several]
        return [_expected(one, schema, k, inputs) for k, one in enumerate(outputs)]

    expected = results(inputs)
    model, given = _model(record, draw, schema, opset, inputs, told, expected)
    sizes = [None if one is None else (one.dtype.name, one.shape) for one in inputs]
    shown = f"{record.name} of opset {opset}, {sizes}, {told}"
    return Case(model, given, expected, record.ulps, shown, results, inputs, record.constants, record.finite)


def check(case: Case, device: str = "cpu") -> None:
    """Assert that a model has the expected results, or raises an error that names its node."""
    if isinstance(case.expected, Refused):
        check_error(case, device)
        return
    try:
        found = ep.onnx.load(case.model, device).run(None, case.inputs)
    except Exception as error:
        error.add_note(f"{case.shown} should have been computed: {_told(case.inputs)}")
        raise
    compare(case, found)


def check_error(case: Case, device: str = "cpu") -> None:
    """Assert that a model is refused by ONNX's own check, or by an error that names its node and the argument."""
    try:
        found = ep.onnx.load(case.model, device).run(None, case.inputs)
    except (ValueError, TypeError, IndexError, NotImplementedError) as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        named = "the_node" in text and any(one in text for one in str(case.expected).split())
        if not named and not isinstance(error, ep.onnx.ModelError):
            raise AssertionError(f"{case.shown}: the error does not name node and argument: {text}") from error
        return
    try:
        arrays_on(DeviceType.FromTag(device)).stream.Sync()  # other devices report wrong indices now, without a node
    except IndexError:
        return
    raise AssertionError(f"{case.shown}: {case.expected} should have been refused: {_told(case.inputs)} gave {found}")


def compare(case: Case, found: Sequence[Any]) -> None:
    """Assert that results are the expected ones of a case."""
    for k, (value, (expected, dtype, magnitude)) in enumerate(zip(found, case.expected, strict=False)):
        result = np.asarray(value) if isinstance(value, np.ndarray) else value.copy_to_host()
        shown = f"output {k} of {case.shown}"
        assert result.dtype == dtype, f"{shown} has dtype {result.dtype}; it should be {dtype}"
        assert result.shape == expected.shape, f"{shown} has shape {result.shape}; it should be {expected.shape}"
        good = _equal(result, expected, dtype, magnitude, case.ulps)
        if not good.all():
            places = np.argwhere(~good)[:3].tolist()
            few = [(place, result[tuple(place)], expected[tuple(place)]) for place in places]
            raise AssertionError(f"{shown}: {(~good).sum()} of {good.size} differ: {few} of {_told(case.inputs)}")


def _equal(result: NDArray, expected: NDArray, dtype: np.dtype[Any], magnitude: Any, ulps: float) -> NDArray:
    if dtype.kind in "iub":
        return np.asarray(result == expected.astype(dtype))
    if dtype.kind == "c":
        parts = [(np.real, dtype.type(0).real.dtype), (np.imag, dtype.type(0).real.dtype)]
        return np.logical_and(*(_equal(part(result), part(expected), kind, magnitude, ulps) for part, kind in parts))
    info = ml_dtypes.finfo(dtype)
    ulps = min(ulps, 1.5) if dtype.itemsize == 2 else ulps
    with np.errstate(all="ignore"):
        wide, rounded = result.astype(np.float64), expected.astype(dtype).astype(np.float64)
        scale = np.abs(expected if magnitude is None else magnitude).astype(np.float64)
        scale = np.where(np.isfinite(scale), np.maximum(scale, np.abs(expected)), 0)
        most = float(info.max)
        tolerance = ulps * (float(info.eps) * np.minimum(scale, most) + float(info.tiny) * float(info.eps))
        near = np.abs(np.clip(wide, -most, most) - np.clip(expected, -most, most)) <= tolerance
        edge = np.isfinite(expected) & (np.abs(expected) + tolerance >= most)  # rounded down, or to infinity
        equal = (wide == rounded) | (np.isnan(wide) & np.isnan(expected))
        return np.asarray(equal | (near & np.isfinite(expected) & (np.isfinite(wide) | edge)))


def _wide(array: Any) -> Any:
    if array is None or array.dtype.kind in "iubc":
        return array
    return array.astype(np.float64)


def _expected(found: Output, schema: Any, k: int, inputs: Sequence[Any]) -> tuple[NDArray, np.dtype[Any], Any]:
    dtype = found.dtype
    if dtype is None:
        text = schema.outputs[min(k, len(schema.outputs) - 1)].type_str
        same = [
            one.dtype
            for j, one in enumerate(inputs)
            if one is not None and schema.inputs[min(j, len(schema.inputs) - 1)].type_str == text
        ]
        dtype = same[0] if same else served.types(schema)[text][0]
    return np.asarray(found.value), np.dtype(dtype), found.magnitude


def _model(
    record: Record, draw: Draw, schema: Any, opset: int, inputs: Sequence[Any], attributes: dict[str, Any],
    expected: Any,
) -> tuple[ModelProto, dict[str, NDArray]]:  # fmt: skip
    """Return the model of a node, and what it gets: some inputs are constants of it, and some sizes are free."""
    named = ["" if one is None else f"in{k}" for k, one in enumerate(inputs)]
    while named and not named[-1] and draw.maybe("absent"):
        named.pop()
    if not isinstance(expected, Refused):
        least = len(expected) if record.all_outputs else min(max(schema.min_output, 1), len(expected))
        wanted = draw.pick("outputs", range(least, len(expected) + 1))
        infos = [
            helper.make_tensor_value_info(f"out{k}", helper.np_dtype_to_tensor_dtype(dtype), [None] * value.ndim)
            for k, (value, dtype, _) in enumerate(expected[:wanted])
        ]
    else:
        first = draw.dtype if schema.outputs[0].type_str == schema.inputs[0].type_str else None
        kind = served.types(schema)[schema.outputs[0].type_str]
        dtype = first if first is not None else kind[0] if kind else draw.dtype
        infos = [helper.make_tensor_value_info("out0", helper.np_dtype_to_tensor_dtype(dtype), [None])]
    nodes = [helper.make_node(record.name, named, [one.name for one in infos], name="the_node", **attributes)]
    given, tensors, values = {}, [], []
    if isinstance(expected, Refused):  # its result has no rank: the model has that result in one axis
        nodes[0].output[0] = "result"
        nodes.append(helper.make_node("Reshape", ["result", "whole"], ["out0"], name="another"))
        tensors.append(numpy_helper.from_array(np.array([-1]), "whole"))
    for name, (k, array) in zip(named, enumerate(inputs), strict=False):
        if not name:
            continue
        odds = 1.0 if k in record.known else 0.8 if k in record.constants else 0.1
        if draw.rng.random() < odds:
            tensors.append(numpy_helper.from_array(array, name))
            continue
        given[name] = array
        sizes = array.shape if draw.maybe("fixed sizes") else [f"{name} {axis}" for axis in range(array.ndim)]
        values.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), sizes))
    graph = helper.make_graph(nodes, "one node", values, infos, tensors)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset < 23 else 11), given


def _told(inputs: dict[str, NDArray]) -> str:
    return ", ".join(f"{name} = {one.tolist()!r:.600}" for name, one in inputs.items())
