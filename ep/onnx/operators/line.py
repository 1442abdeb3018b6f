"""The lines of the table of ONNX's operators: one for each definition that an operator of ONNX has had."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import onnx

from ep.onnx.errors import ModelError

Function = TypeVar("Function", bound=Callable[..., Any])


class Line(NamedTuple):
    """The implementation of an ONNX operator. since: the first opset with this definition.
    function: its arguments are the inputs, None for omitted ones, and the attributes by name, with ONNX's defaults. It
    returns results, or one of the branches that the node has, whose nodes are computed in its place.
    host: the numbers of the inputs that are sizes, axes and the like; they are passed in host memory.
    of_shape: whether the result depends only on the shapes of inputs.
    counts: whether the function has a parameter `count`, the number of outputs of the node.
    most_outputs: the largest number of outputs that a node may use.
    false: the number of an input that must be omitted, or a constant false; -1 for none.
    check: is called with the attributes when the model is loaded, and raises NotImplementedError for unsupported ones.
    apart: whether it needs computed arrays, not traced ones.
    of_data: the function that returns an array instead of the input in host memory, if this one is not known when the
        node is planned; its arguments are the first input, that input, and the attributes. The node is then planned
        with the array, or without one for None.
    indices: the name of the input that has indices, for errors.
    domain: of the operator; empty for ONNX's own.
    fits: is called with the inputs that are constants, None for others, and the attributes when the model is loaded. It
        raises TypeError or ValueError for those that contradict each other.
    zeros: the numbers of the inputs that mean zeros if they are omitted; so constant zeros are.
    prepare: returns the attributes that the function gets, from those of the node, when the model is loaded. It raises
        ValueError, which names the attribute, for those that contradict each other.
    labels: the number of the output that has labels of classes; if these are strings, the function gives their places.
    first_state: the number of the first input that is a state, of an operator whose graph is computed for each step.
    """

    name: str
    since: int
    function: Callable[..., Any]
    host: tuple[int, ...] = ()
    of_shape: bool = False
    counts: bool = False
    most_outputs: int = 2**31
    false: int = -1
    check: Callable[..., Any] | None = None
    apart: bool = False
    of_data: Callable[..., Any] | None = None
    first_state: int | None = None
    indices: str = "indices"
    domain: str = ""
    fits: Callable[..., Any] | None = None
    zeros: tuple[int, ...] = ()
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    labels: int = -1

    @property
    def full_name(self) -> str:
        """The name with the domain, unless it is one of ONNX's own."""
        return f"{self.domain}.{self.name}" if self.domain else self.name


LINES: Final[list[Line]] = []
"""All lines, in no order."""


def line(name: str, since: int, *, attributes: Sequence[str] = (), **facts: Any) -> Callable[[Function], Function]:
    """Return a decorator that adds a line for a function.

    attributes: the inputs after the first one that are attributes in this definition. name, since, facts: as in Line.
    """

    def add(function: Function) -> Function:
        def by_attributes(x: Any, **given: Any) -> Any:
            inputs = (given.pop(one, None) for one in attributes)
            return function(x, *(np.array(one) if isinstance(one, list) else one for one in inputs), **given)

        LINES.append(Line(name, since, by_attributes if attributes else function, **facts))
        return function

    return add


def one_of(**known: Collection[str | int]) -> Callable[..., None]:
    """Return what takes attributes and raises NotImplementedError for a value that is not known."""

    def check(**attributes: Any) -> None:
        for name, values in known.items():
            given = attributes.get(name)
            if given is not None and given not in values:
                raise NotImplementedError(f"{name} is {given}; it must be one of {', '.join(map(str, values))}")

    return check


check_common: Final = one_of(
    **dict.fromkeys(
        (
            "align_corners", "allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative",
            "detect_positive", "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "is_causal",
            "keepdims", "largest", "layout", "linear_before_reset", "noop_with_empty_axes", "periodic", "reverse",
            "saturate", "select_last_index", "sorted", "spatial", "storage_order", "training_mode", "transA",
            "transB", "upper",
        ),
        (0, 1),
    ),
    round_mode=("up", "down", "nearest"),
)  # fmt: skip
"""Checks the attributes that have the same values for each operator that has them: most are a choice of two."""


_KINDS: Final = {
    "int": onnx.AttributeProto.INT,
    "float": onnx.AttributeProto.FLOAT,
    "str": onnx.AttributeProto.STRING,
    "Sequence[int]": onnx.AttributeProto.INTS,
    "Sequence[float]": onnx.AttributeProto.FLOATS,
    "Sequence[str]": onnx.AttributeProto.STRINGS,
}
"""The types of attributes, by the annotations of the functions of operators that ONNX does not define."""


def check_arguments(shown: str, node: onnx.NodeProto, line: Line) -> None:
    """Raise ModelError for inputs and attributes that the function of a node does not take."""
    signature = inspect.signature(line.function)
    try:
        given = signature.bind(*node.input, **{one.name: one for one in node.attribute}).arguments
    except TypeError as error:
        raise ModelError(f"{shown} does not fit its operator: {error}") from None
    for one in node.attribute:
        wanted = str(signature.parameters[one.name].annotation).removesuffix(" | None")
        if wanted in _KINDS and one.type != _KINDS[wanted]:
            raise ModelError(f"{shown} has an attribute {one.name} that is no {wanted}")
    for name, parameter in signature.parameters.items():
        is_optional = parameter.default is not parameter.empty or str(parameter.annotation).endswith("None")
        if given.get(name) == "" and not is_optional:
            raise ModelError(f"{shown} omits input {name}")
